"""What a page told its drawings."""

import json
import struct
import zlib

from streamlit.testing.v1 import AppTest


def told(app: AppTest, key: str) -> dict[str, object]:
    """What a drawing was told in words and numbers."""
    data: dict[str, object] = json.loads(app.get_by_key(key).proto.json)
    return data


def sent(app: AppTest, key: str) -> tuple[dict[str, object], bytes]:
    """What a drawing was sent as bytes: its header and its payload."""
    message = app.get_by_key(key).proto.bytes
    (length,) = struct.unpack("<I", message[:4])
    return json.loads(message[4 : 4 + length]), zlib.decompress(message[4 + length :])


def facts(app: AppTest, key: str) -> dict[str, dict[str, str]]:
    """The facts of one list by their names."""
    return {fact["name"]: fact for fact in told(app, key)["facts"]}

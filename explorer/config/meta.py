"""The sizes of a model as Meta's ``params.json`` states them.

Keys and formulas are those of llama-models: ``ModelArgs`` in models/llama3/args.py, ``FeedForward`` and
``apply_scaling`` in models/llama3/model.py.
"""

from collections.abc import Mapping

from explorer.config.model_config import ConfigError, Llama3Scaling, ModelConfig, UnsupportedFamily
from explorer.config.stated import Stated

DEFAULT_EPS = 1e-5
# The reference code of Llama 1 and 2, whose files do not state a base.
FIRST_THETA, FIRST_CONTEXT = 10_000.0, 4096
LLAMA3_CONTEXT, SCALED_CONTEXT = 8192, 131_072
# What ``apply_scaling`` holds as constants; "the factor" is right for Llama 3.1 and 3.3, while Llama 3.2 needs 32.
HIDDEN_FACTOR, HIDDEN_LOW, HIDDEN_HIGH = 8.0, 1.0, 4.0
FACTOR_KEYS = ("rope_scaling_factor", "rope_scale_factor")


def config_from_meta(
    table: Mapping[str, object], *, name: str, vocab_size: int | None = None, file_name: str = "params.json"
) -> ModelConfig:
    """The model that a ``params.json`` describes.

    ``vocab_size`` is the height of the embedding in the weights, for files that state -1. Raises
    ``UnsupportedFamily``, a ``ConfigError``, for what would be computed wrongly, ``ConfigError`` for a missing or
    impossible size.
    """
    stated = Stated(table, file_name)
    for key, reason in (
        ("quantization_args", "quantised weights"),
        ("lora_args", "an adapter"),
        ("moe_args", "a mixture of experts"),
        ("moe", "a mixture of experts"),
        ("vision_model", "images"),
        ("sliding_window", "sliding windows"),
    ):
        if stated.has(key):
            raise UnsupportedFamily(
                f"{file_name}: {key} asks for {reason}, which this code would compute wrongly",
                "Choose a dense Llama without it.",
            )
    d_model, n_heads = stated.size("dim"), stated.size("n_heads")
    if d_model % n_heads:
        raise ConfigError(f"{file_name}: {d_model} numbers do not divide into {n_heads} heads", "Fetch the file again.")
    scaled = stated.flag("use_scaled_rope")
    context = SCALED_CONTEXT if scaled else LLAMA3_CONTEXT if stated.has("rope_theta") else FIRST_CONTEXT
    stated_vocabulary = table.get("vocab_size", -1)
    return ModelConfig(
        name=name,
        vocab_size=stated.size("vocab_size") if stated_vocabulary != -1 or vocab_size is None else vocab_size,
        d_model=d_model,
        n_layers=stated.size("n_layers"),
        n_heads=n_heads,
        n_kv_heads=stated.size("n_kv_heads", n_heads),
        head_dim=d_model // n_heads,
        d_ff=_d_ff(stated, d_model),
        context=context,
        rope_theta=stated.number("rope_theta", FIRST_THETA),
        rope_scaling=_scaling(stated) if scaled else None,
        norm_eps=stated.number("norm_eps", DEFAULT_EPS),
        tied_embedding=False,
    )


def rotation_note(table: Mapping[str, object], *, file_name: str = "params.json") -> str | None:
    """Which scaling of the rotation was taken, and from where; None for a file without any."""
    stated = Stated(table, file_name)
    if not stated.flag("use_scaled_rope"):
        return None
    for key in FACTOR_KEYS:
        if stated.has(key):
            return f"The rotation is scaled by the factor {stated.number(key):g} that {file_name} states as {key}."
    return (
        f"The rotation is scaled by the factor {HIDDEN_FACTOR:g} that Meta's code holds for use_scaled_rope, as in "
        f"Llama 3.1 and 3.3. Llama 3.2 needs 32: write {FACTOR_KEYS[0]} into {file_name}."
    )


def _d_ff(stated: Stated, d_model: int) -> int:
    """Meta's ``FeedForward``: two thirds of four times the width, times a multiplier, rounded up."""
    if stated.has("hidden_dim"):  # the params.json of Mistral states it
        return stated.size("hidden_dim")
    width = int(2 * (4 * d_model) / 3)
    if stated.has("ffn_dim_multiplier"):
        width = int(stated.number("ffn_dim_multiplier") * width)
    multiple = stated.size("multiple_of", 256)
    return -(-width // multiple) * multiple


def _scaling(stated: Stated) -> Llama3Scaling:
    key = next((key for key in FACTOR_KEYS if stated.has(key)), FACTOR_KEYS[0])
    return Llama3Scaling(
        factor=stated.number(key, HIDDEN_FACTOR),
        low_freq_factor=stated.number("rope_low_freq_factor", HIDDEN_LOW),
        high_freq_factor=stated.number("rope_high_freq_factor", HIDDEN_HIGH),
        original_context=LLAMA3_CONTEXT,
    )

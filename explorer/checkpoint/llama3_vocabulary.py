"""The vocabulary of Llama 3: the ranks that Meta publishes in its package of model code."""

from explorer.checkpoint.wheel_file import WheelFile

LLAMA3_ROWS = 128_000 + 256  # its ranks and its special tokens
LLAMA3_VOCABULARY = WheelFile(
    project="llama-models",
    version="0.3.0",
    wheel_name="llama_models-0.3.0-py3-none-any.whl",
    wheel_bytes=6_612_946,
    wheel_sha256="7f77f78ff13fca09f70d76a376aff6414cd901623fb9d57e69c2f8367a73032f",
    member="llama_models/llama3/tokenizer.model",
    member_bytes=2_183_982,
    member_sha256="82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
)

"""Where a norm can stand around a sub-layer, and who put it there."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NormPlace:
    """One arrangement: what the branch passes through, and what stands on the stream after the addition."""

    id: str
    title: str
    formula: str
    branch: tuple[str, ...]
    after: tuple[str, ...]
    gradient: str
    users: str

    @property
    def summary(self) -> str:
        """The diagram in words."""
        after = "then the norm on the stream" if self.after else "nothing else on the stream"
        return f"The branch passes {', '.join(self.branch)} and is added to the stream, {after}."


NORM_PLACES = (
    NormPlace(
        id="post",
        title="Post-norm",
        formula="x ← Norm(x + F(x))",
        branch=("sub-layer",),
        after=("norm",),
        gradient=(
            "Every norm stands on the stream itself: the way back to the first layer passes through all of them, and "
            "the stream is no plain sum. Training needs a slow start (Xiong et al. 2020)."
        ),
        users="The first Transformer (2017), BERT; DeepNet with a stronger shortcut.",
    ),
    NormPlace(
        id="pre",
        title="Pre-norm",
        formula="x ← x + F(Norm(x))",
        branch=("norm", "sub-layer"),
        after=(),
        gradient=(
            "The stream runs straight through: the way back has a path on which nothing is scaled. Because the stream "
            "is never normalised, one last norm must stand before the unembedding."
        ),
        users="GPT-2, every Llama, Mistral, Qwen2.",
    ),
    NormPlace(
        id="both",
        title="Both sides",
        formula="x ← x + Norm(F(Norm(x)))",
        branch=("norm", "sub-layer", "norm"),
        after=(),
        gradient=(
            "The straight path stays, and the second norm keeps every write at the size that its gain learned, however "
            "large the sub-layer's output is. Named Peri-LN by Kim et al. 2025."
        ),
        users="Gemma 2 and Gemma 3.",
    ),
    NormPlace(
        id="output",
        title="Output only",
        formula="x ← x + Norm(F(x))",
        branch=("sub-layer", "norm"),
        after=(),
        gradient=(
            "The straight path stays. The sub-layer reads the stream at whatever length it has grown to; only what it "
            "writes is brought to size."
        ),
        users="OLMo 2.",
    ),
)

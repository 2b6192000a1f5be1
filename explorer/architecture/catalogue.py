"""Llama, part by part: the only place where its boxes and arrows are listed, in the order in which data flows."""

from explorer.architecture.part import Flow, FlowKind, Kind, Part

LLAMA = "explorer.model.llama.Llama"
LAYER = "explorer.model.layer.DecoderLayer"
ATTENTION = "explorer.model.attention.GroupedQueryAttention"
PATTERN = "explorer.model.attention.pattern"
SWIGLU = "explorer.model.feed_forward.SwiGLU"
RMS_NORM = "explorer.model.rms_norm.RMSNorm"
NORMALISE = "return (wide * scale).type_as(x) * self.gain"
BEFORE = "layers.{layer}.tap.before"
AFTER_ATTENTION = "layers.{layer}.tap.after_attention"
AFTER_FEED_FORWARD = "layers.{layer}.tap.after_feed_forward"
ATTEND = "layers.{layer}.attention"
FEED = "layers.{layer}.feed_forward"
PATTERN_AXES = "batch head token source"

PARTS = (
    Part(
        id="token_ids", title="Token ids", kind=Kind.EMBEDDING, page="tokenizer", note="@n_tokens tokens",
        code=LLAMA, line="self.embedding(token_ids)",
    ),
    Part(
        id="embedding", title="Token embedding", kind=Kind.EMBEDDING, address="embedding", taps=("tap.embedded",),
        note="@vocab_size × @d_model", page="embedding",
        code="explorer.model.embedding.TokenEmbedding", line="embedding(token_ids, self.weight)",
    ),
    Part(
        id="rope_angles", title="RoPE angles", kind=Kind.AUXILIARY, note="θ @rope_theta\n@rope_scaling",
        code="explorer.model.rope.rotation_angles", line="torch.outer", page="rope",
    ),
    Part(
        id="layer", title="Transformer layer", kind=Kind.STRUCTURE, address="layers.{layer}",
        taps=(AFTER_FEED_FORWARD,), page="residual_stream", code=LAYER, line="x = self.tap.before(x)",
    ),
    Part(
        id="attention_norm", title="RMSNorm before attention", label="RMSNorm", kind=Kind.NORM,
        address="layers.{layer}.attention_norm", inside="layer",
        taps=(f"{ATTEND}.tap.input",), note="@d_model gains", page="normalization", code=RMS_NORM, line=NORMALISE,
    ),
    Part(
        id="attention", title="Grouped-query attention", label="Attention (GQA)", kind=Kind.ATTENTION, address=ATTEND,
        inside="layer", taps=(f"{ATTEND}.tap.output",), note="@n_heads query heads, @n_kv_heads key/value",
        page="attention", code=ATTENTION, line="mixed = scaled_dot_product_attention",
    ),
    Part(
        id="query", title="Query", kind=Kind.ATTENTION, address=f"{ATTEND}.query", inside="attention",
        taps=(f"{ATTEND}.tap.query",), note="→ @query_width", page="attention",
        code=ATTENTION, line="self.split_heads(self.query(x))",
    ),
    Part(
        id="key", title="Key", kind=Kind.ATTENTION, address=f"{ATTEND}.key", inside="attention",
        taps=(f"{ATTEND}.tap.key",), note="→ @kv_width", page="attention",
        code=ATTENTION, line="self.split_heads(self.key(x))",
    ),
    Part(
        id="value", title="Value", kind=Kind.ATTENTION, address=f"{ATTEND}.value", inside="attention",
        taps=(f"{ATTEND}.tap.value",), note="→ @kv_width", page="attention",
        code=ATTENTION, line="self.split_heads(self.value(x))",
    ),
    Part(
        id="query_norm", title="Query norm", kind=Kind.NORM, address=f"{ATTEND}.query_norm", inside="attention",
        taps=(f"{ATTEND}.tap.query",), note="@head_dim gains", page="normalization", optional=True,
        code=ATTENTION, line="query, key = self.query_norm(query), self.key_norm(key)",
    ),
    Part(
        id="key_norm", title="Key norm", kind=Kind.NORM, address=f"{ATTEND}.key_norm", inside="attention",
        taps=(f"{ATTEND}.tap.key",), note="@head_dim gains", page="normalization", optional=True,
        code=ATTENTION, line="query, key = self.query_norm(query), self.key_norm(key)",
    ),
    Part(
        id="rotary", title="RoPE", kind=Kind.ATTENTION, inside="attention", note="turns @n_pairs pairs",
        taps=(f"{ATTEND}.tap.rotated_query", f"{ATTEND}.tap.rotated_key"), page="rope",
        code=ATTENTION, line="rotate(",
    ),
    Part(
        id="kv_cache", title="KV cache", kind=Kind.AUXILIARY, note="@kv_bytes_layer\nper token",
        inside="layer",
        taps=(f"{ATTEND}.tap.rotated_key", f"{ATTEND}.tap.value"), page="generation",
        code="explorer.model.kv_cache.KVCache", line="[:, :, self.length : end]",
    ),
    Part(
        id="scores", title="Scores", kind=Kind.ATTENTION, inside="attention", page="attention",
        note="q·k ÷ √@head_dim",
        code=PATTERN, line="score = query.float()",
    ),
    Part(
        id="mask", title="Causal mask", kind=Kind.ATTENTION, inside="attention", page="attention",
        note="the future becomes −∞", code=PATTERN, line="future",
    ),
    Part(
        id="softmax", title="Softmax", kind=Kind.ATTENTION, inside="attention", page="attention",
        note="every row adds to one", code=PATTERN, line=".softmax(-1)",
    ),
    Part(
        id="mix", title="Mix the values", kind=Kind.ATTENTION, inside="attention", taps=(f"{ATTEND}.tap.mixed",),
        page="attention", code=ATTENTION, line="mixed = scaled_dot_product_attention",
    ),
    Part(
        id="output", title="Output", kind=Kind.ATTENTION, address=f"{ATTEND}.output", inside="attention",
        taps=(f"{ATTEND}.tap.output",), note="→ @d_model", page="attention",
        code=ATTENTION, line="self.output(self.tap.mixed(mixed)",
    ),
    Part(
        id="attention_add", title="Residual add after attention", label="+", kind=Kind.NORM,
        inside="layer", taps=(AFTER_ATTENTION,), page="residual_stream",
        code=LAYER, line="self.tap.after_attention(x + ",
    ),
    Part(
        id="feed_forward_norm", title="RMSNorm before the feed-forward", label="RMSNorm", kind=Kind.NORM,
        address="layers.{layer}.feed_forward_norm",
        inside="layer", taps=(f"{FEED}.tap.input",), note="@d_model gains", page="normalization",
        code=RMS_NORM, line=NORMALISE,
    ),
    Part(
        id="feed_forward", title="SwiGLU feed-forward", label="Feed-forward", kind=Kind.FEED_FORWARD,
        address=FEED, inside="layer", taps=(f"{FEED}.tap.output",), note="@d_model → @d_ff → @d_model",
        page="feed_forward", code=SWIGLU, line="self.tap.product(activated * ",
    ),
    Part(
        id="gate", title="Gate", kind=Kind.FEED_FORWARD, address=f"{FEED}.gate", inside="feed_forward",
        taps=(f"{FEED}.tap.gate",), note="→ @d_ff", page="feed_forward",
        code=SWIGLU, line="self.tap.gate(self.gate(x))",
    ),
    Part(
        id="up", title="Up", kind=Kind.FEED_FORWARD, address=f"{FEED}.up", inside="feed_forward",
        taps=(f"{FEED}.tap.up",), note="→ @d_ff", page="feed_forward",
        code=SWIGLU, line="self.tap.up(self.up(x))",
    ),
    Part(
        id="silu", title="SiLU", kind=Kind.FEED_FORWARD, inside="feed_forward", taps=(f"{FEED}.tap.activated",),
        page="feed_forward", code=SWIGLU, line="silu(self.tap.gate",
    ),
    Part(
        id="product", title="Product", kind=Kind.FEED_FORWARD, inside="feed_forward", taps=(f"{FEED}.tap.product",),
        note="number by number", page="feed_forward", code=SWIGLU, line="self.tap.product(activated * ",
    ),
    Part(
        id="down", title="Down", kind=Kind.FEED_FORWARD, address=f"{FEED}.down", inside="feed_forward",
        taps=(f"{FEED}.tap.output",), note="→ @d_model", page="feed_forward",
        code=SWIGLU, line="self.down(product)",
    ),
    Part(
        id="feed_forward_add", title="Residual add after the feed-forward", label="+", kind=Kind.NORM,
        inside="layer", taps=(AFTER_FEED_FORWARD,),
        page="residual_stream", code=LAYER, line="self.tap.after_feed_forward(x + ",
    ),
    Part(
        id="final_norm", title="Final RMSNorm", label="Final RMSNorm", kind=Kind.NORM, address="norm",
        taps=("tap.normalised",), note="@d_model gains", page="normalization", code=RMS_NORM, line=NORMALISE,
    ),
    Part(
        id="unembedding", title="Unembedding", kind=Kind.EMBEDDING, address="unembedding", taps=("tap.logits",),
        note="@d_model × @vocab_size\n@tying", page="unembedding",
        code="explorer.model.unembedding.Unembedding", line="linear(x, self.weight)",
    ),
    Part(
        id="next_token", title="Next token", kind=Kind.EMBEDDING, note="one of @vocab_size", page="sampling",
        code="explorer.model.sampling.next_token", line="p = ((ordered - ordered[0])",
    ),
)  # fmt: skip

PART = {part.id: part for part in PARTS}

FLOWS = (
    Flow(source="token_ids", target="embedding", axes="batch token"),
    Flow(source="embedding", target="attention_norm", tap=BEFORE),
    Flow(source="embedding", target="attention_add", tap=BEFORE, kind=FlowKind.RESIDUAL),
    Flow(source="attention_norm", target="query", tap=f"{ATTEND}.tap.input"),
    Flow(source="attention_norm", target="key", tap=f"{ATTEND}.tap.input"),
    Flow(source="attention_norm", target="value", tap=f"{ATTEND}.tap.input"),
    Flow(source="query", target="query_norm", axes="batch head token head_dim"),
    Flow(source="key", target="key_norm", axes="batch kv_head token head_dim"),
    Flow(source="query_norm", target="rotary", tap=f"{ATTEND}.tap.query"),
    Flow(source="key_norm", target="rotary", tap=f"{ATTEND}.tap.key"),
    Flow(source="rope_angles", target="rotary", axes="token pair", kind=FlowKind.AUXILIARY),
    Flow(source="rotary", target="kv_cache", tap=f"{ATTEND}.tap.rotated_key", kind=FlowKind.AUXILIARY),
    Flow(source="value", target="kv_cache", tap=f"{ATTEND}.tap.value", kind=FlowKind.AUXILIARY),
    Flow(source="kv_cache", target="scores", axes="batch kv_head source head_dim", kind=FlowKind.AUXILIARY),
    Flow(source="kv_cache", target="mix", axes="batch kv_head source head_dim", kind=FlowKind.AUXILIARY),
    Flow(source="rotary", target="scores", tap=f"{ATTEND}.tap.rotated_query"),
    Flow(source="rotary", target="scores", tap=f"{ATTEND}.tap.rotated_key"),
    Flow(source="scores", target="mask", axes=PATTERN_AXES),
    Flow(source="mask", target="softmax", axes=PATTERN_AXES),
    Flow(source="softmax", target="mix", axes=PATTERN_AXES),
    Flow(source="value", target="mix", tap=f"{ATTEND}.tap.value"),
    Flow(source="mix", target="output", tap=f"{ATTEND}.tap.mixed"),
    Flow(source="output", target="attention_add", tap=f"{ATTEND}.tap.output"),
    Flow(source="attention_add", target="feed_forward_norm", tap=AFTER_ATTENTION),
    Flow(source="attention_add", target="feed_forward_add", tap=AFTER_ATTENTION, kind=FlowKind.RESIDUAL),
    Flow(source="feed_forward_norm", target="gate", tap=f"{FEED}.tap.input"),
    Flow(source="feed_forward_norm", target="up", tap=f"{FEED}.tap.input"),
    Flow(source="gate", target="silu", tap=f"{FEED}.tap.gate"),
    Flow(source="silu", target="product", tap=f"{FEED}.tap.activated"),
    Flow(source="up", target="product", tap=f"{FEED}.tap.up"),
    Flow(source="product", target="down", tap=f"{FEED}.tap.product"),
    Flow(source="down", target="feed_forward_add", tap=f"{FEED}.tap.output"),
    Flow(source="feed_forward_add", target="final_norm", tap="tap.final"),
    Flow(source="final_norm", target="unembedding", tap="tap.normalised"),
    Flow(source="unembedding", target="next_token", tap="tap.logits"),
)

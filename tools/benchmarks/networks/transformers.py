"""Transformers: an encoder over whole sequences, and one step of a decoder with a past."""

from __future__ import annotations

from networks.building import Input, Model, Network


def _heads(net: Network, x: str, count: int, width: int) -> str:
    """Reshape [batch, sequence, width] to [batch, head, sequence, head size], with the shape computed as exporters
    do."""
    sizes = net.node("Shape", x)
    kept = net.node("Slice", sizes, net.shape(0), net.shape(2))
    wanted = net.node("Concat", kept, net.shape(count, width // count), axis=0)
    return net.node("Transpose", net.node("Reshape", x, wanted), perm=[0, 2, 1, 3])


def _merged(net: Network, x: str, width: int) -> str:
    return net.node("Reshape", net.node("Transpose", x, perm=[0, 2, 1, 3]), net.shape(0, 0, width))


def _attention(net: Network, q: str, k: str, v: str, mask: str, head: int) -> str:
    scores = net.node("MatMul", q, net.node("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net.node("Add", net.node("Mul", scores, net.constant(head**-0.5)), mask)
    return net.node("MatMul", net.node("Softmax", scores, axis=-1), v)


def _bias(net: Network, mask: str) -> str:
    """Return a bias for all heads and rows: 0 where the mask is 1, a large negative number where it is 0."""
    wide = net.node("Unsqueeze", net.node("Cast", mask, to=1), net.shape(1, 2))
    return net.node("Mul", net.node("Sub", net.constant(1), wide), net.constant(-1e4))


def bert() -> Model:
    """Return a BERT: two layers of width 128, two heads, GELU by Erf, post-normalization, and a classifier."""
    net, width, heads = Network(), 128, 2
    words = net.node("Gather", net.weight(30522, width, scale=0.1), "input_ids")
    kinds = net.node("Gather", net.weight(2, width, scale=0.1), "token_type_ids")
    length = net.node("Slice", net.node("Shape", "input_ids"), net.shape(1), net.shape(2))
    places = net.node("Slice", net.weight(512, width, scale=0.1), net.shape(0), length, net.shape(0))
    x = net.layer_norm(net.node("Add", net.node("Add", words, kinds), places), width)
    mask = _bias(net, "attention_mask")
    for _ in range(2):
        q, k, v = (_heads(net, net.linear(x, width, width), heads, width) for _ in range(3))
        mixed = _merged(net, _attention(net, q, k, v, mask, width // heads), width)
        x = net.layer_norm(net.node("Add", net.linear(mixed, width, width), x), width)
        wide = net.linear(x, width, 4 * width)
        erf = net.node("Erf", net.node("Div", wide, net.constant(2**0.5)))
        wide = net.node("Mul", net.node("Mul", wide, net.node("Add", erf, net.constant(1))), net.constant(0.5))
        x = net.layer_norm(net.node("Add", net.linear(wide, 4 * width, width), x), width)
    first = net.node("Gather", x, net.constant(0, int), axis=1)
    pooled = net.node("Tanh", net.node("Gemm", first, net.weight(width, width, scale=0.1), net.weight(width)))
    result = net.node("Gemm", pooled, net.weight(width, 3, scale=0.1), net.weight(3))
    dims = ("batch", "sequence")
    inputs = (Input("input_ids", dims, 30522), Input("attention_mask", dims, 2), Input("token_type_ids", dims, 2))
    return Model(
        "BERT, 2 layers of 128", net.model(inputs, {x: 3, result: 2}), inputs,
        {"batch": 1, "sequence": 32},
        {"batch": {"batch": 2}, "length": {"sequence": 45}, "third": {"batch": 3, "sequence": 57}},
    )  # fmt: skip


def gpt2(layers: int = 2) -> Model:
    """Return a GPT-2 step, one token after a past: width 256, four heads, tanh GELU, tied embeddings."""
    net, width, heads, vocabulary = Network(), 256, 4, 50257
    table = net.weight(vocabulary, width, scale=0.05)
    x = net.node("Gather", table, "input_ids")
    x = net.node("Add", x, net.node("Gather", net.weight(1024, width, scale=0.05), "position_ids"))
    inputs = [Input("input_ids", ("batch", 1), vocabulary), Input("position_ids", ("batch", 1), 1024)]
    outputs = {}
    for layer in range(layers):
        three = net.linear(net.layer_norm(x, width), width, 3 * width)
        q, k, v = (
            _heads(net, part, heads, width) for part in net.nodes("Split", 3, three, net.shape(*[width] * 3), axis=-1)
        )
        past = [Input(f"past_{kind}_{layer}", ("batch", heads, "past", width // heads)) for kind in ("key", "value")]
        k, v = (net.node("Concat", before.name, new, axis=2) for before, new in zip(past, (k, v), strict=True))
        inputs += past
        outputs |= {k: 4, v: 4}
        mixed = _merged(net, _attention(net, q, k, v, _bias(net, "attention_mask"), width // heads), width)
        x = net.node("Add", x, net.linear(mixed, width, width))
        wide = net.linear(net.layer_norm(x, width), width, 4 * width)
        cubed = net.node("Mul", net.node("Pow", wide, net.constant(3)), net.constant(0.044715))
        inner = net.node("Tanh", net.node("Mul", net.node("Add", wide, cubed), net.constant(0.7978845608)))
        wide = net.node("Mul", net.node("Mul", wide, net.constant(0.5)), net.node("Add", inner, net.constant(1)))
        x = net.node("Add", x, net.linear(wide, 4 * width, width))
    logits = net.node("MatMul", net.layer_norm(x, width), net.node("Transpose", table, perm=[1, 0]))
    inputs.append(Input("attention_mask", ("batch", "total"), 2))
    return Model(
        f"GPT-2 step, {layers} layers of 256", net.model(inputs, {logits: 3, **outputs}), tuple(inputs),
        {"batch": 1, "past": 16, "total": 17},
        {
            "length": {"past": 17, "total": 18},
            "third": {"past": 18, "total": 19},
            "batch": {"batch": 2},
            **{f"past {past}": {"past": past, "total": past + 1} for past in range(19, 32)},
            "later": {"past": 32, "total": 33},
        },
    )  # fmt: skip

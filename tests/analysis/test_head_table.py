"""The sequence on which induction is measured."""

from explorer.analysis.head_table import repeated_random_tokens


def test_the_repeated_tokens_fit_a_short_context() -> None:
    for most in (8, 64, 101, 4096):
        tokens = repeated_random_tokens(49152, (1,), most=most)
        assert len(tokens) <= most
        half = (len(tokens) - 1) // 2
        assert tokens[1 : 1 + half] == tokens[1 + half :]

"""Every token is predicted once, whatever the windows."""

from hypothesis import given
from hypothesis import strategies as st

from regard.engines.score import windows


@given(st.integers(1, 300), st.integers(1, 40), st.data())
def test_windows_cover_every_token_once_with_as_much_before_it_as_promised(tokens, window, data):
    stride = data.draw(st.integers(1, window))
    counted = []
    for start, end, new in windows(tokens, window, stride):
        assert 0 <= start < end <= tokens and end - start <= window
        counted += range(end - new, end)
        if start > 0:
            assert end - start == window and end - new - start >= window - stride
    assert counted == list(range(tokens))

"""Blocks of a column with distinct pairs: their levels and scales by delta."""

from ldpfrontier.optimal.products.geometry.block_key import BlockKey, block_keys


def test_the_special_value_has_the_higher_level_and_the_lower_scale() -> None:
    keys = block_keys(3, 1, 0.2, 0.5)
    assert keys == [BlockKey(0, 0.2), BlockKey(1, 0.5, True), BlockKey(2, 0.2)]
    assert [key.level(1.0) for key in keys] == [(0.8, 0.0), (1.5, -0.5), (0.8, 0.0)]
    # At delta = 0 no value is special.
    assert not any(key.special for key in block_keys(3, 1, 0.0, 0.0))

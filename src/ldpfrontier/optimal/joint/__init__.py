"""The column LP under the uncertainty set F itself: columns found jointly, by spatial branch and bound."""

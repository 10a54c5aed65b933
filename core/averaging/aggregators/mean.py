"""The weighted mean as an aggregator: it trusts every part, so a single wild one moves the result."""

import numpy as np

from core.averaging.aggregators.aggregator import Parts, Vector


class WeightedMean:
    """Sum of weight times part, in float32, each product and each sum rounded once."""

    def aggregate(self, parts: Parts, out: Vector) -> None:
        """Write the weighted mean of the parts to `out`."""
        first = True
        with np.errstate(over="ignore", invalid="ignore"):
            for weight, values in parts:
                if first:
                    np.multiply(values, np.float32(weight), out=out)
                    first = False
                else:
                    out += np.multiply(values, np.float32(weight), out=values)

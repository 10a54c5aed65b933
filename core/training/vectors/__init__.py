"""The model as one vector: its parameters, the noise in its gradients, the scale of losses."""

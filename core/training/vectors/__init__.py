"""The model as one vector: its parameters, and the noise in its gradients."""

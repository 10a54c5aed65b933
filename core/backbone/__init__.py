"""The backbone: who founds a collaboration, lets people in and welcomes them."""

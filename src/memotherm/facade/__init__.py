"""What the methods of `Memotherm` are made of: services, the view of a scope, and what is reached through `mem`."""

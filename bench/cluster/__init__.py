"""A store on a Citus cluster of this machine: how fast it is beside one server, and what it survives."""

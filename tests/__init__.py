"""What Memotherm promises, tested through its public doors."""

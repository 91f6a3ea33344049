"""What Thermocline promises, tested through its public doors."""

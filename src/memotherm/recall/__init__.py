"""One query, from candidates to ranked hits and a log entry."""

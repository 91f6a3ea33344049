"""A store on another machine: the verbs of the facade, sent to its REST server."""

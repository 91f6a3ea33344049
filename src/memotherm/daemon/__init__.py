"""A process that has everything loaded and answers hooks and commands by forking; everything works without it.

It opens no store and reads no settings for others: each request is answered by a fork with the arguments,
environment, folder and files of the client, which does what a process of its own would do and ends.
The modules import the standard library only, because a host waits for its hooks.
"""

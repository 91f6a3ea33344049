"""Tests of a store on a real Citus cluster (`make citus`); they are not part of `make test`."""

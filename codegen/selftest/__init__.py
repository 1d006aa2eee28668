"""Small programs that say what a machine can do, each run in a process of its own."""

from anedsl.codegen.selftest.programs import Program, all_programs, example_programs

__all__ = ["Program", "all_programs", "example_programs"]

"""Run, judge and compare handlers of the memory lab: a student's decisions in place of the kernel's.

``kit`` is what a handler may use; ``student`` puts a student's functions behind the kernel's seam;
``sandbox`` runs them in a process that has no say in the verdict; ``testbed`` and ``checks`` find out
what they do; ``classroom`` grades many.
"""

"""python -m regard"""

from regard.cli.commands import main

main()

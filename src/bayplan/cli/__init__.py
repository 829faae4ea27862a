"""The commands: what a person types, and how the answer is shown.

Not here: any decision; commands ask the rooms below and show what they say.
"""

import click


@click.group()
@click.version_option(package_name="bayplan")
def main() -> None:
    """Decide where every pod in a Kubernetes cluster goes, and say why."""

import Glibc

exit(CommandLineTool.run(CommandLine.arguments).rawValue)

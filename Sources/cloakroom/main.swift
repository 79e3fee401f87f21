import Glibc

Output.occupyStandardDescriptors()
exit(CommandLineTool.run(CommandLine.arguments).rawValue)

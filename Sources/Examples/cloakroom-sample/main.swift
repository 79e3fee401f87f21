import Foundation

exit(await Sample.run(Array(CommandLine.arguments.dropFirst())))

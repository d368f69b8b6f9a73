extension Rule {
    /// Folders of checkouts on single machines.
    ///
    /// Split, so that this file keeps the rule.
    private static let machineFolders = [
        "wo" + "rk", "fa" + "rm", "ho" + "me", "ro" + "ot", "Us" + "ers",
    ]

    static let machinePaths = Rule(
        "no path of one machine is in the tree",
        files: .all,
        broken: [
            Tree(["docs/a.md": "See /ho" + "me/ada/latchkey.\n"]),
            Tree(["Makefile": "\tcd /wo" + "rk/main\n"]),
        ],
        kept: [Tree(["docs/a.md": "See ./work/a, a/home/b and /usr/bin/env.\n"])]
    ) { file in
        file.lines.enumerated().compactMap { index, line in
            for folder in machineFolders {
                let path = "/\(folder)/"
                guard let range = line.firstRange(of: path) else { continue }
                let before = line[..<range.lowerBound].last ?? " "
                if !before.isLetter, !before.isNumber, !"_.~".contains(before) {
                    return (index + 1, "the path of a machine: \(path)")
                }
            }
            return nil
        }
    }

    /// The machine's own configuration decides where packages and images come from.
    private static let hosts = [
        "pyp" + "i.org", "pythonhos" + "ted.org", "dock" + "er.io", "gh" + "cr.io", "qua" + "y.io",
        "deb.deb" + "ian.org", "npm" + "js.org", "proxy.gol" + "ang.org", "crat" + "es.io",
    ]

    static let registryHosts = Rule(
        "no package registry is named by its host",
        files: .all,
        broken: [Tree(["Dockerfile": "FROM dock" + "er.io/library/debian\n"])],
        kept: [Tree(["Dockerfile": "FROM debian:bookworm-slim\n"])]
    ) { file in
        file.lines.enumerated().compactMap { index, line in
            hosts.first { line.contains($0) }.map { (index + 1, "names the registry \($0)") }
        }
    }
}

extension Rule {
    static let cSymbols = Rule(
        "a C symbol that others can see has its target's prefix",
        files: .cSources,
        broken: [
            Tree(["Sources/service/CLatchkeyHTTP/a.c": "int start(void) {\n}\n"]),
            Tree([
                "Sources/service/CLatchkeyHTTP/include/a.h": "static inline int stop(void) {\n}\n"
            ]),
            Tree(["Sources/service/CLatchkeyHTTP/include/a.h": "struct a *latchkey_start(int a);\n"]
            ),
            Tree(["Sources/service/CLatchkeyHTTP/include/a.h": "#define LIMIT 1\n"]),
            Tree(["Sources/service/CLatchkeyHTTP/a.c": "void *malloc(size_t count) {\n}\n"]),
        ],
        kept: [
            Tree([
                "Sources/service/CLatchkeyHTTP/include/CLatchkeyHTTP.h": """
                #define CLATCHKEYHTTP_H
                #define LATCHKEY_HTTP_LIMIT 1
                typedef void (*latchkey_http_handler)(void *context);
                struct latchkey_http_server *latchkey_http_start(int port);

                """,
                "Sources/service/CLatchkeyHTTP/a.c":
                    "static int local(void) {\n    return other();\n}\n",
                "Sources/service/CLatchkeyHTTP/internal.h":
                    "#define LIKELY(x) x\nenum { MASK = (1) };\n",
            ])
        ]
    ) { file in
        guard let target = file.target, target.hasPrefix("CLatchkey") else {
            return []
        }
        // Functions of libraries that it takes the place of, for a reason that it has.
        let replaced = file.path.hasSuffix("/arrival.c") ? ["recv", "gnutls_record_recv"] : []
        let prefix = "latchkey_\(target.dropFirst("CLatchkey".count).lowercased())_"
        let isHeader = file.path.hasSuffix(".h")
        let isPublic = file.path.contains("/include/")
        return file.code.enumerated().compactMap { index, line in
            guard let name = isPublic && line.hasPrefix("#define") ? macro(line) : function(line),
                isHeader || !line.hasPrefix("static"),
                !name.lowercased().hasPrefix(prefix), name != target.uppercased() + "_H",
                !replaced.contains(name)
            else { return nil }
            return (index + 1, "\(name) does not start with \(prefix)")
        }
    }

    private static func macro(_ line: String) -> String? {
        line.split { $0 == " " || $0 == "(" }.dropFirst().first.map(String.init)
    }

    /// The name of the function that a line at the left margin declares.
    static func function(_ line: String) -> String? {
        guard line.first?.isLetter == true, !line.hasPrefix("typedef"), !line.hasPrefix("enum {"),
            let parenthesis = line.firstIndex(of: "(")
        else { return nil }
        let name = line[..<parenthesis].split { !$0.isLetter && !$0.isNumber && $0 != "_" }.last
        return name == "__attribute__" || name == "_Static_assert" ? nil : name.map(String.init)
    }
}

internal import LatchkeyJSON
package import LatchkeyStrategies

/// The table of strategies and their traits, for the command line and `GET /v1/strategies`.
package enum StrategyTable {
    /// The table as JSON, with the serving strategy of a running service.
    package static func json(serving: StrategyKind?) -> [UInt8] {
        var json = JSONWriter()
        json.object { table in
            if let serving {
                table.member("serving", serving.rawValue)
            }
            table.array("strategies") { rows in
                for kind in StrategyKind.allCases {
                    rows.object { row in
                        row.member("name", kind.rawValue)
                        row.member("summary", kind.summary)
                        row.object("traits") { traits in
                            for column in StrategyTraits.columns {
                                traits.member(column.json, column.value(kind.traits))
                            }
                        }
                    }
                }
            }
        }
        return json.bytes
    }

    /// The table as one paragraph for each strategy, for a terminal of 80 columns.
    package static func text() -> String {
        StrategyKind.allCases.map { kind in
            let traits = StrategyTraits.columns.filter { $0.value(kind.traits) }.map(\.text)
            return "\(kind.rawValue)\n    \(kind.summary)\n    "
                + (traits.isEmpty ? "-" : traits.joined(separator: ", ")) + "\n"
        }.joined(separator: "\n")
    }
}

import LatchkeyComparison
import LatchkeyService
import LatchkeySettings
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The tables of settings, as flags, environment variables and help.
@Suite struct SettingTests {
    private static let ofServe = ServiceConfiguration.settings.map(\.name)
    private static let ofCompare = ComparisonSettings.settings.map(\.name)

    @Test(arguments: ofServe)
    func `serve has a default that the help names, and takes values at the bounds only`(
        name: String
    ) throws {
        // Flags that are valid only with another one.
        let others =
            switch name {
            case "open", "first-token": ["--token-file=file"]
            case "rate-mode": ["--rate=5"]
            case "durability": ["--data=folder"]
            case "peer-token-from", "peer-ca": ["--follow=http://a:8080"]
            case "cluster": ["--data=folder"]
            case "cluster-ca", "cluster-certificate", "cluster-key":
                ["--cluster=https://a:2379", "--data=folder"]
            case _ where name.hasPrefix("cluster-"): ["--cluster=http://a:2379", "--data=folder"]
            default: [String]()
            }
        try checkDefault(of: name, manual: ServeCommand.fullManual, make: serve)
        try checkEdges(of: name, others, make: serve)
    }

    @Test(arguments: ofCompare)
    func `compare has a default that the help names, and takes values at the bounds only`(
        name: String
    ) throws {
        try checkDefault(of: name, manual: CompareCommand.manual, make: compare)
        try checkEdges(of: name, [], make: compare)
    }

    @Test(arguments: ServiceConfiguration.limits.map(\.name))
    func `a limit takes values at its bounds, and none beyond`(name: String) throws {
        let limit = try #require(ServiceConfiguration.limits.first { $0.name == name })
        let edges = limit.values.edges ?? spellings[name] ?? []
        #expect(edges.contains { $0.isRight } && edges.contains { !$0.isRight })
        for (text, isRight) in edges {
            let result = Result { () throws(UsageError) in
                try serve([]) { $0 == "LATCHKEY_LIMITS" ? "\(name)=\(text)" : nil }
            }
            switch result {
            case .success(let owner):
                #expect(isRight, "accepts '\(text)'")
                #expect(limit.text(in: owner) == text)
                let isStandard = text == limit.text(in: .standard)
                #expect(owner.changedLimits.map(\.name) == (isStandard ? [] : [name]))
                #expect(owner.changedSettings.isEmpty)
            case .failure(let error):
                #expect(!isRight, "refuses '\(text)': \(error.message)")
                #expect(error.message.hasPrefix("LATCHKEY_LIMITS sets \(name), which "))
            }
        }
    }

    @Test(arguments: [
        ("max-exports", "takes NAME=VALUE,NAME=VALUE, not 'max-exports'."),
        ("", "takes NAME=VALUE,NAME=VALUE, not ''."),
        ("max-exports=1,", "takes NAME=VALUE,NAME=VALUE, not ''."),
        ("max-export=1", "has an unknown name 'max-export'. Did you mean 'max-exports'?"),
        ("max-bytes=1", "has an unknown name 'max-bytes'."),
        ("max-exports=1,max-exports=2", "names 'max-exports' twice."),
    ])
    func `limits that are not right are an error`(text: String, sentence: String) {
        let result = Result { () throws(UsageError) in
            try ServeCommand.configuration([], limits: text)
        }
        guard case .failure(let error) = result else {
            Issue.record("accepts '\(text)'")
            return
        }
        #expect(error.message == "LATCHKEY_LIMITS \(sentence)")
    }

    @Test func `limits can be given together, with units`() throws {
        let limits = "sync-interval=2m,max-target-bytes=1KiB,record-sample=1/2,rate-burst=rate"
        let found = try ServeCommand.configuration([], limits: limits).changedLimits
        #expect(
            found.map { "\($0.name)=\($0.value)" } == [
                "sync-interval=120", "max-target-bytes=1024", "record-sample=1/2",
            ]
        )
    }

    @Test(arguments: ServeCommand.removed.map(\.name))
    func `a flag of serve that was removed is an error that says what there is`(
        name: String
    ) throws {
        try checkRemoved(name, ServeCommand.removed, make: serve)
    }

    @Test(arguments: CompareFlags.removed.map(\.name))
    func `a flag of compare that was removed is an error that says what there is`(
        name: String
    ) throws {
        try checkRemoved(name, CompareFlags.removed, make: compare)
    }

    @Test func `names are unique`() {
        let limits = ServiceConfiguration.limits.map(\.name)
        let all = Self.ofServe + limits
        #expect(Set(all).count == all.count)
        #expect(Set(Self.ofCompare).count == Self.ofCompare.count)
    }

    private typealias Environment = (String) -> String?

    private func serve(
        _ arguments: [String],
        _ environment: Environment
    ) throws(UsageError) -> ServiceConfiguration {
        try ServeCommand.configuration(arguments, environment: environment)
    }

    private func compare(
        _ arguments: [String],
        _ environment: Environment
    ) throws(UsageError) -> ComparisonSettings {
        try CompareFlags.settings(
            FlagValues(
                CompareFlags.all,
                removed: CompareFlags.removed,
                command: "latchkey compare",
                arguments: arguments,
                environment: environment
            )
        )
    }

    private func checkEdges<Owner: Configurable>(
        of name: String,
        _ others: [String],
        make: ([String], Environment) throws(UsageError) -> Owner
    ) throws {
        let setting = try #require(Owner.settings.first { $0.name == name })
        let variable = Flag(setting).environmentName
        let standard = try make(others) { _ in nil }
        let isPath = ["FILE", "DIR"].contains(setting.values.placeholder)
        let edges = setting.values.edges ?? spellings[name] ?? (isPath ? paths : [])
        #expect(edges.contains { $0.isRight } && edges.contains { !$0.isRight })
        for (text, isRight) in edges {
            let flag = Result { () throws(UsageError) in
                try make(others + ["--\(name)=\(text)"]) { _ in nil }
            }
            let environment = Result { () throws(UsageError) in
                try make(others) { $0 == variable ? text : nil }
            }
            for (source, result) in [("--\(name)", flag), (variable, environment)] {
                switch result {
                case .success(let owner):
                    #expect(isRight, "\(source) accepts '\(text)'")
                    #expect(setting.text(in: owner) == text)
                    // The transport has defaults of its own.
                    for other in Owner.settings where other.name != name && name != "transport" {
                        let value = other.text(in: owner)
                        #expect(value == other.text(in: standard), "\(source) sets \(other.name)")
                    }
                case .failure(let error):
                    #expect(!isRight, "\(source) refuses '\(text)': \(error.message)")
                    #expect(error.message.hasPrefix("\(source) "), "\(error.message)")
                }
            }
        }
    }

    private func checkRemoved<Owner: Configurable>(
        _ name: String,
        _ removed: [RemovedFlag],
        make: ([String], Environment) throws(UsageError) -> Owner
    ) throws {
        let flag = try #require(removed.first { $0.name == name })
        #expect(!Owner.settings.contains { $0.name == name })
        let cases: [(source: String, arguments: [String], variable: String?)] = [
            ("--\(name)", ["--\(name)"], nil), ("--\(name)", ["--\(name)", "1"], nil),
            ("--\(name)", ["--\(name)=1"], nil), (flag.environmentName, [], "1"),
            (flag.environmentName, [], ""),
        ]
        for (source, arguments, variable) in cases {
            let result = Result { () throws(UsageError) in
                try make(arguments) { $0 == flag.environmentName ? variable : nil }
            }
            guard case .failure(let error) = result else {
                Issue.record("\(source) \(arguments) is accepted")
                continue
            }
            let flags = Owner.settings.map { Flag($0) }
            let renamed = flags.map { flag in
                let name = variable == nil ? "--\(flag.name)" : flag.environmentName
                return "\(source) was renamed in 0.2: use \(name)."
            }
            let isRemoved = error.message.hasPrefix("\(source) was removed in 0.2: ")
            #expect(isRemoved || renamed.contains(error.message))
            #expect(error.message.hasSuffix("."))
        }
        let environment = [flag.environmentName: "1"]
        #expect(
            EnvironmentVariables.unknown(in: environment, [], others: [flag.environmentName])
                .isEmpty
        )
    }

    private func checkDefault<Owner: Configurable>(
        of name: String,
        manual: String,
        make: ([String], Environment) throws(UsageError) -> Owner
    ) throws {
        let setting = try #require(Owner.settings.first { $0.name == name })
        let owner = try make([]) { _ in nil }
        #expect(setting.text(in: owner) == setting.text(in: .standard))
        let paragraph = Flag(setting).manual
        #expect(manual.contains(paragraph))
        let words = paragraph.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.hasPrefix("--\(name) "))
        #expect(setting.defaultText.isEmpty || words.contains("Default: \(setting.defaultText)."))
    }
}

/// Paths, and whether they are right.
private let paths: [(text: String, isRight: Bool)] = [
    ("none", true), ("a b", true), (String(repeating: "a", count: 3999), true),
    (String(repeating: "a", count: 4000), false), ("", false),
]

/// Values of the settings that have a spelling of their own, and whether they are right.
private let spellings: [String: [(text: String, isRight: Bool)]] = [
    "allow-fetch": [
        ("none", true), ("a.b", true), ("a.b:80,[::1]:8080", true), ("a:0", false),
        ("http://a", false),
        ("a,,b", false), ("", false),
    ],
    "allow-origin": [
        ("http://a.b", true), ("http://a.b:80,https://[::1]:8080", true), ("none", true),
        ("a.b", false), ("http://", false), ("http://A.b", false), ("http://a/", false),
        ("*", false), ("null", false), ("", false),
        ("http://\(String(repeating: "a", count: 263))", true),
        ("http://\(String(repeating: "a", count: 264))", false),
    ],
    "follow": [
        ("none", true), ("http://a.b:8080", true), ("https://[::1]:1", true), ("http://", false),
        ("http://a:0", false), ("ftp://a", false), ("http://a/b", false), ("", false),
    ],
    "cluster": [
        ("none", true), ("http://a.b:1", true), ("https://[::1]:65535,http://b:2379", true),
        ("http://a:0", false), ("http://a:65536", false), ("a:2379", false), ("http://", false),
        ("http://a:1,,http://b:1", false), ("http://a/b", false), ("", false),
        ("./members", true), ("/etc/members", true), ("members", false),
        ("/" + String(repeating: "a", count: 3999), false),
    ],
    "cluster-name": [
        ("a", true), ("A-1_b", true), (String(repeating: "a", count: 64), true),
        (String(repeating: "a", count: 65), false), ("a/b", false), ("é", false), ("", false),
    ],
    "cluster-url": [
        ("none", true), ("http://10.0.0.1:8080", true), ("http://", false), ("", false),
    ],
    "admin-port": [
        ("none", true), ("0", true), ("65535", true), ("65536", false), ("-1", false),
        ("+1", false), ("", false),
    ],
    "open": [
        ("metrics,readyz", true), ("readyz", true), ("none", true), ("healthz", false), ("", false),
        ("readyz,readyz", false),
    ],
    "quota": [
        ("none", true), ("a=1", true), ("a b/=1125899906842624,é=2,x=y=3", true),
        ("a%2Cb%25=5", true), ("a=0", false), ("a=1125899906842625", false), ("a=", false),
        ("=1", false), ("a=1,a=2", false), ("a=1,,b=1", false), ("%0A=1", false), ("%=1", false),
        ("%4=1", false), ("", false),
        ("\(String(repeating: "a", count: 256))=1", true),
        ("\(String(repeating: "a", count: 257))=1", false),
    ],
    "rate": [
        ("none", true), ("1", true), ("1000000", true), ("0", false), ("1000001", false),
        ("rate", false), ("1.5", false), ("", false),
    ],
    "rate-burst": [
        ("rate", true), ("1", true), ("1000000", true), ("0", false), ("1000001", false),
        ("none", false), ("", false),
    ],
    "max-connections-per-address": [
        ("share", true), ("0", true), ("65536", true), ("65537", false), ("-1", false),
        ("", false),
    ],
    "trusted-proxy": [
        ("none", true), ("10.0.0.1", true), ("10.0.0.0/8,::1,2001:db8::/32", true),
        ("10.0.0.0/33", false), ("::/129", false), ("a.b", false), ("10.0.0.1/", false),
        ("", false),
    ],
    "allowed-host": [
        ("none", true), ("a.b", true), ("a.b,c", true), ("*", true), ("a,,b", false),
        ("a,a", false),
        ("a:80", false), ("", false),
    ],
    "start-revision": [
        ("clock", true), ("0", true), ("4503599627370496", true), ("4503599627370497", false),
        ("-1", false), ("now", false), ("", false),
    ],
    "outside": [
        ("0", true), ("10000000", true), ("10000001", false), ("-1", false), ("", false),
        ("scaled:10000000", true), ("scaled:10000001", false), ("5,5", false),
    ],
    "skew": [("uniform", true), ("zipf:0.99", true), ("zipf:", false), ("flat", false)],
    "stripes": [("1", true), ("1024", true), ("0", false), ("2048", false), ("3", false)],
    "arrival": [("closed", true), ("open:100000", true), ("open:", false), ("never", false)],
    "duration": [
        ("0.005", true), ("60", true), ("0.0049", false), ("60.1", false), ("soon", false),
    ],
]

extension SettingValues {
    /// Values at the limits and next to them, in the spelling that a setting prints, and whether
    /// they are right; nil for values with a spelling of their own.
    fileprivate var edges: [(text: String, isRight: Bool)]? {
        switch self {
        case .text:
            [("localhost", true), ("", false)]
        case .integer(let range, _):
            edges(of: range) { "\($0)" } + [("", false), ("1.5", false), ("many", false)]
                + [("\(range.lowerBound + 1)", true), ("\(range.upperBound - 1)", true)]
        case .powerOfTwo(let range):
            edges(of: range) { "\($0)" } + [("2", true), ("3", false)]
                + [("\(range.upperBound - 1)", false), ("\(2 * range.upperBound)", false)]
        case .share(let range):
            edges(of: range) { "1/\($0)" } + [("2/3", false), ("0.5", false), ("7", false)]
                + [("1/\(range.lowerBound + 1)", true), ("1/\(range.upperBound - 1)", true)]
        case .choice(let names):
            names.map { ($0, true) } + [("nonsense", false), ("", false)]
        case .toggle:
            [("true", true), ("false", true), ("yes", false), ("", false)]
        case .list(.choice(let names)):
            names.filter { $0 != "all" }.map { ($0, true) }
                + [
                    (names.prefix(2).joined(separator: ","), true), ("all,\(names[0])", false),
                    ("\(names[0]),\(names[0])", false), ("nonsense", false), ("", false),
                ]
        case .list(.integer(let range, _)):
            edges(of: range) { "\($0)" } + [("1,2", true), ("2,1", false), ("1,1", false)]
                + [("", false), ("1.5", false)]
        case .list(.decimal(let range)):
            [
                ("\(Int(range.lowerBound))", true), ("\(Int(range.upperBound))", true),
                ("\(range.lowerBound - 0.1)", false), ("\(range.upperBound + 0.1)", false),
                ("0.1,0.5", true), ("0.5,0.1", false), ("", false),
            ]
        case .spelled, .list(.spelling):
            nil
        }
    }

    private func edges(
        of range: ClosedRange<Int>,
        _ spell: (Int64) -> String
    ) -> [(text: String, isRight: Bool)] {
        let (lower, upper) = (Int64(range.lowerBound), Int64(range.upperBound))
        // The greatest number has no next one; a text with one more digit stands for it.
        let beyond = upper == .max ? "9\(upper)" : spell(upper + 1)
        return [
            (spell(lower - 1), false), (spell(lower), true), (spell(upper), true), (beyond, false),
        ]
    }
}

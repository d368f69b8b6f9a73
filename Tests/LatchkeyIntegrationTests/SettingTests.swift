import LatchkeyService
import LatchkeySettings
import Testing

@testable import latchkey

/// The table of settings, as flags, environment variables and help.
@Suite struct SettingTests {
    private typealias Configuration = ServiceConfiguration

    private static let names = Configuration.settings.map(\.name)

    private func setting(_ name: String) throws -> Setting<ServiceConfiguration> {
        try #require(Configuration.settings.first { $0.name == name })
    }

    @Test(arguments: names)
    func `accepts its bounds and nothing beyond, as a flag and from the environment`(
        name: String
    ) throws {
        let setting = try setting(name)
        let variable = Flag(setting).environmentName
        // This one has a meaning beside another one only.
        let others = name == "shadow-sample" ? ["--shadow=spin"] : []
        for (text, isRight) in setting.values.edges {
            let flag = result { () throws(UsageError) in
                try ServeCommand.configuration(others + ["--\(name)=\(text)"]) { _ in nil }
            }
            let environment = result { () throws(UsageError) in
                try ServeCommand.configuration(others) { $0 == variable ? text : nil }
            }
            for (source, result) in [("--\(name)", flag), (variable, environment)] {
                switch result {
                case .success(let configuration):
                    #expect(isRight, "\(source) accepts '\(text)'")
                    #expect(setting.text(in: configuration) == text)
                    for other in Configuration.settings where other.name != name && others.isEmpty {
                        let value = other.text(in: configuration)
                        #expect(value == other.text(in: .standard), "\(source) sets \(other.name)")
                    }
                case .failure(let error):
                    #expect(!isRight, "\(source) refuses '\(text)': \(error.message)")
                    #expect(error.message.hasPrefix("\(source) "), "\(error.message)")
                }
            }
        }
    }

    @Test(arguments: names)
    func `has the default of its owner, and is in the help`(name: String) throws {
        let setting = try setting(name)
        let configuration = try ServeCommand.configuration([]) { _ in nil }
        #expect(setting.text(in: configuration) == setting.text(in: .standard))
        let manual = Flag(setting).manual
        #expect(ServeCommand.manual.contains(manual))
        let words = manual.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.hasPrefix("--\(name) "))
        #expect(setting.defaultText.isEmpty || words.contains("Default: \(setting.defaultText)."))
    }

    @Test func `names are unique`() {
        #expect(Set(Self.names).count == Self.names.count)
    }

    private func result(
        _ make: () throws(UsageError) -> ServiceConfiguration
    ) -> Result<ServiceConfiguration, UsageError> {
        Result { () throws(UsageError) in try make() }
    }
}

extension SettingValues {
    /// Values at the bounds and next to them, in the spelling that a setting prints, and whether
    /// they are right.
    fileprivate var edges: [(text: String, isRight: Bool)] {
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
        case .spelling:
            []
        case .list:
            [("a.b", true), ("a.b,c", true), ("*", true), ("a,,b", false), ("a,a", false)]
                + [("a:80", false), ("", false)]
        }
    }

    private func edges(
        of range: ClosedRange<Int>,
        _ spell: (Int) -> String
    ) -> [(text: String, isRight: Bool)] {
        [
            (spell(range.lowerBound - 1), false), (spell(range.lowerBound), true),
            (spell(range.upperBound), true), (spell(range.upperBound + 1), false),
        ]
    }
}

import LatchkeyComparison
import Testing

struct SettingsSpellingTests {
    @Test(arguments: ["0", "200", "scaled:200"])
    func `outside work has one spelling`(text: String) throws {
        #expect(try #require(OutsideWork(rawValue: text)).rawValue == text)
    }

    @Test(arguments: ["uniform", "zipf:0.99", "zipf:1"])
    func `a skew has one spelling`(text: String) throws {
        #expect(try #require(KeySkew(rawValue: text)).rawValue == text)
    }

    @Test(arguments: ["closed", "open:100000", "open:0.5"])
    func `an arrival has one spelling`(text: String) throws {
        #expect(try #require(Arrival(rawValue: text)).rawValue == text)
    }

    @Test(arguments: [
        "", "x", "-1", "scaled:", "zipf:0", "zipf:-1", "zipf:nan", "open:inf", "open:0",
    ])
    func `a spelling without a meaning has no value`(text: String) {
        #expect(OutsideWork(rawValue: text) == nil)
        #expect(KeySkew(rawValue: text) == nil)
        #expect(Arrival(rawValue: text) == nil)
    }
}

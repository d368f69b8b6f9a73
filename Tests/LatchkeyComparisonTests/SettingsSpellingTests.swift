import LatchkeyComparison
import Testing

struct SettingsSpellingTests {
    @Test(arguments: ["0", "200", "scaled:200"])
    func `outside work has one spelling`(text: String) throws {
        #expect(try #require(OutsideWork(text)).description == text)
    }

    @Test(arguments: ["uniform", "zipf:0.99", "zipf:1"])
    func `a skew has one spelling`(text: String) throws {
        #expect(try #require(KeySkew(text)).description == text)
    }

    @Test(arguments: ["closed", "open:100000", "open:0.5"])
    func `an arrival has one spelling`(text: String) throws {
        #expect(try #require(Arrival(text)).description == text)
    }

    @Test(arguments: [
        "", "x", "-1", "scaled:", "zipf:0", "zipf:-1", "zipf:nan", "open:inf", "open:0",
    ])
    func `what has no meaning has no value`(text: String) {
        #expect(OutsideWork(text) == nil)
        #expect(KeySkew(text) == nil)
        #expect(Arrival(text) == nil)
    }
}

import Testing

@Suite("House rules")
struct HouseRuleTests {
    @Test(arguments: Rule.all)
    func `the tree keeps every rule`(rule: Rule) throws {
        for finding in rule.findings(try Tree.ofThisPackage.get()) {
            Issue.record("\(finding)")
        }
    }

    @Test(arguments: Rule.all)
    func `a rule fires on each of its broken examples`(rule: Rule) {
        #expect(!rule.broken.isEmpty)
        for tree in rule.broken {
            #expect(!rule.findings(tree).isEmpty, "silent on \(tree.files.map(\.text))")
        }
    }

    @Test(arguments: Rule.all)
    func `a rule is silent on each of its kept examples`(rule: Rule) {
        #expect(!rule.kept.isEmpty)
        for tree in rule.kept {
            #expect(rule.findings(tree).map(\.description) == [])
        }
    }
}

import LatchkeyJSON
import LatchkeyStore
import Testing

/// Texts that are no transactions, and the sentence that says why; times to live as text.
struct TransactionTextTests {
    private static let conditionRule =
        "A condition has a name and one of revision, exists, absent, equals, <, <=, >, >= and !=."
    private static let stepRule =
        "A step has one of put, merge, increment, delete, get, touch, pop, delete-prefix and "
        + "count, with a name."

    @Test(arguments: [
        ("[]", "A transaction must be an object."),
        (#"{"if":{}}"#, "if must be an array."),
        (#"{"then":null}"#, "then must be an array."),
        (#"{"else":1}"#, "else must be an array."),
        (#"{"then":[],"then":[]}"#, "A transaction has the member then twice."),
        (#"{"steps":[]}"#, "`steps` is not known here; `if`, `then` and `else` are."),
        (#"{"if":[1]}"#, "Item 1 of if: A condition must be an object."),
        (
            #"{"if":[{"name":"a","exists":true},{"name":"a"}]}"#,
            "Item 2 of if: \(conditionRule)"
        ),
        (
            #"{"if":[{"exists":true}]}"#,
            "Item 1 of if: \(conditionRule)"
        ),
        (
            #"{"if":[{"name":"a","exists":true,"revision":1}]}"#,
            "Item 1 of if: \(conditionRule)"
        ),
        (
            #"{"if":[{"name":"a","value":1}]}"#,
            """
            Item 1 of if: `value` is not known here; `name`, `revision`, `exists`, `equals`, \
            `absent`, `<`, `<=`, `>`, `>=` and `!=` are.
            """
        ),
        (
            #"{"if":[{"name":"a","revision":-1}]}"#,
            "Item 1 of if: revision must be a whole number, 0 for no property."
        ),
        (
            #"{"if":[{"name":"a","revision":1.5}]}"#,
            "Item 1 of if: revision must be a whole number, 0 for no property."
        ),
        (#"{"if":[{"name":"a","exists":1}]}"#, "Item 1 of if: exists must be true or false."),
        (
            #"{"if":[{"name":1,"exists":true}]}"#,
            "Item 1 of if: The name of a property must be a string."
        ),
        (#"{"if":[{"name":"","exists":true}]}"#, "Item 1 of if: The name is empty."),
        (#"{"then":["put"]}"#, "Item 1 of then: A step must be an object."),
        (
            #"{"then":[{"value":1}]}"#,
            "Item 1 of then: \(stepRule)"
        ),
        (
            #"{"else":[{"get":"a"},{"get":"a","put":"a"}]}"#,
            "Item 2 of else: \(stepRule)"
        ),
        (
            #"{"then":[{"get":"a","if":1}]}"#,
            """
            Item 1 of then: `if` is not known here; `put`, `merge`, `increment`, `delete`, `get`, \
            `value`, `patch`, `by`, `ttl`, `touch`, `pop`, `delete-prefix`, `count`, `ttl-if-new` \
            and `claim` are.
            """
        ),
        (#"{"then":[{"put":"a"}]}"#, "Item 1 of then: put needs a value."),
        (#"{"then":[{"merge":"a"}]}"#, "Item 1 of then: merge needs a patch."),
        (#"{"then":[{"put":"a","patch":1}]}"#, "Item 1 of then: put has no member patch."),
        (#"{"then":[{"merge":"a","value":1}]}"#, "Item 1 of then: merge has no member value."),
        (#"{"then":[{"get":"a","ttl":1}]}"#, "Item 1 of then: get has no member ttl."),
        (#"{"then":[{"delete":"a","by":1}]}"#, "Item 1 of then: delete has no member by."),
        (
            #"{"then":[{"increment":"a","by":1.5}]}"#,
            "Item 1 of then: by must be a 64-bit integer."
        ),
        (
            #"{"then":[{"increment":"a","by":9223372036854775808}]}"#,
            "Item 1 of then: by must be a 64-bit integer."
        ),
        (
            #"{"then":[{"put":"a\n","value":1}]}"#,
            "Item 1 of then: The name has a control character."
        ),
        (
            #"{"then":[{"put":[],"value":1}]}"#,
            "Item 1 of then: The name of a property must be a string."
        ),
        (#"{"if":[{"name":"a","absent":1}]}"#, "Item 1 of if: absent must be true or false."),
        (#"{"if":[{"name":"a","<":1,">":0}]}"#, "Item 1 of if: \(conditionRule)"),
        (#"{"then":[{"touch":"a"}]}"#, "Item 1 of then: touch needs a ttl."),
        (
            #"{"then":[{"touch":"a","ttl-if-new":1}]}"#,
            "Item 1 of then: touch has no member ttl-if-new."
        ),
        (
            #"{"then":[{"increment":"a","ttl":1,"ttl-if-new":1}]}"#,
            "Item 1 of then: A step has ttl or ttl-if-new, not both."
        ),
        (
            #"{"then":[{"pop":"a","ttl":1}]}"#,
            "Item 1 of then: pop has ttl and value only with claim."
        ),
        (#"{"then":[{"pop":"a","claim":"b"}]}"#, "Item 1 of then: A claim needs a ttl."),
        (
            #"{"then":[{"pop":"a","claim":"ab","ttl":1}]}"#,
            "Item 1 of then: Neither of the prefixes of pop and claim may begin the other."
        ),
        (#"{"then":[{"pop":""}]}"#, "Item 1 of then: The name is empty."),
        (#"{"then":[{"count":"a","delete-prefix":"a"}]}"#, "Item 1 of then: \(stepRule)"),
        (#"{"then":[{"count":"a","claim":"b"}]}"#, "Item 1 of then: count has no member claim."),
    ])
    func `the message says what is wrong, and where`(text: String, message: String) throws {
        try withJSON(text) { json in
            #expect(throws: InvalidTransaction(message)) { try Transaction(json) }
        }
    }

    @Test(arguments: ["0", "-1", "315360000.001", "\"1\"", "true", "0.0001"])
    func `a time to live has bounds`(seconds: String) throws {
        try withJSON(#"{"then":[{"put":"a","value":1,"ttl":\#(seconds)}]}"#) { json in
            let message = "Item 1 of then: ttl \(TimeToLiveText.rule)."
            #expect(throws: InvalidTransaction(message)) { try Transaction(json) }
        }
    }

    @Test(arguments: ["if", "then", "else"])
    func `a list has at most 128 items`(list: String) throws {
        let item = list == "if" ? #"{"name":"a","exists":true}"# : #"{"get":"a"}"#
        func text(_ count: Int) -> String {
            "{\"\(list)\":[" + Array(repeating: item, count: count).joined(separator: ",") + "]}"
        }
        try withJSON(text(128)) { json in
            let transaction = try Transaction(json)
            let counts = [
                transaction.conditions.count, transaction.steps.count,
                transaction.otherwise.count,
            ]
            #expect(counts.sorted() == [0, 0, 128])
        }
        try withJSON(text(129)) { json in
            let message = "\(list) can have at most 128 items."
            #expect(throws: InvalidTransaction(message)) { try Transaction(json) }
        }
    }

    @Test(
        arguments: [
            ("1", 1000), ("0.001", 1), ("0.25", 250), ("1.5", 1500), ("90", 90_000), ("007", 7000),
            ("315360000", 315_360_000_000), ("315360000.000", 315_360_000_000), ("0", nil),
            ("0.000", nil), ("0.0004", nil), ("0.0009999999999999998", nil), ("315360000.001", nil),
            ("-1", nil), ("+1", nil),
            ("1e3", 1_000_000), ("1e-03", 1), ("1e-5", nil), ("1e", nil), ("e3", nil), ("inf", nil),
            ("nan", nil), ("0x10", nil), ("", nil),
            (".", nil), ("1.2.3", nil), (" 1", nil), ("1 ", nil), ("1s", nil), ("1,5", nil),
            ("٣", nil), ("99999999999999999999999999", nil),
        ] as [(String, TimeToLive?)]
    )
    func `seconds become milliseconds`(text: String, milliseconds: TimeToLive?) {
        #expect(TimeToLiveText.milliseconds(text) == milliseconds)
    }

    @Test(arguments: [
        (0, 0, "0.000"), (1, 0, "0.001"), (999, 0, "0.999"), (1000, 0, "1.000"),
        (61_050, 1000, "60.050"), (5, 6, "0.000"), (315_360_000_000, 0, "315360000.000"),
    ])
    func `the rest of a time to live has three decimals`(expiry: Int, now: Int, text: String) {
        let (expiry, now) = (Int64(expiry), Int64(now))
        #expect(
            TimeToLiveText.text(
                until: Timestamp(milliseconds: expiry),
                at: Timestamp(milliseconds: now)
            ) == text
        )
    }
}

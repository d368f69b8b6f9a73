import LatchkeyHTTP
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

struct MediaTypeTests {
    private func isJSON(_ field: String) -> Bool {
        unsafe Array(field.utf8).withUnsafeBufferPointer { unsafe MediaType.isJSON(Bytes($0)) }
    }

    @Test(arguments: [
        ("application/json", true), ("APPLICATION/JSON", true),
        ("application/json;charset=x", false), ("application/json; charset=UTF-8", true),
        ("application/json;\tCharset=\"Utf-8\" ; a", true), ("application/json;", true),
        ("application/json; charset=", false), ("application/json; charset=utf-80", false),
        ("application/json; charset=utf-8; charset=latin1", false),
        (" application/json ; a=b", true), ("application/merge-patch+json", true),
        ("a/b+json", true), ("application/jsonp", false), ("text/json", false), ("json", false),
        ("+json", false), ("/x+json", false), ("a/+json", false), ("a/b/c+json", false),
        ("", false), (";", false), ("; charset=utf-8", false),
    ])
    func `JSON is told by its media type`(type: String, isJSON: Bool) {
        #expect(self.isJSON(type) == isJSON)
    }

    /// All fields of some parts that matter, of which few are valid.
    @Test(arguments: ["", "application/json", "application/merge-patch+json; ", "a/"])
    func `bytes are told apart as strings would be`(beginning: String) {
        let parts = [
            "application/", "/", "json", "+json", ";", " ", "\t", "charset=", "utf-8", "\"UTF-8\"",
            "; Charset=", "latin1", "x-ndjson", "jsonl", "merge-patch+json", "a", "=", "",
        ]
        for first in parts {
            for second in parts {
                for third in parts { check(beginning + first + second + third) }
            }
        }
    }

    private func check(_ field: String) {
        let reference = Reference(field)
        unsafe Array(field.utf8).withUnsafeBufferPointer {
            let bytes = unsafe Bytes($0)
            #expect(MediaType.isJSON(bytes) == reference.isJSON, "\(field)")
            #expect(MediaType.isMergePatch(bytes) == reference.isMergePatch, "\(field)")
            #expect(MediaType.isJSONLines(bytes) == reference.isJSONLines, "\(field)")
        }
    }
}

/// The rules in strings.
private struct Reference {
    private let type: String
    private let hasOtherCharset: Bool

    init(_ field: String) {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
            .map { String($0).trimmingSpaces().lowercased() }
        type = parts[0]
        hasOtherCharset = parts.dropFirst().contains {
            $0.hasPrefix("charset=") && $0 != "charset=utf-8" && $0 != "charset=\"utf-8\""
        }
    }

    var isJSON: Bool {
        let names = type.split(separator: "/", omittingEmptySubsequences: false)
        let hasSuffix =
            names.count == 2 && !names[0].isEmpty && names[1].hasSuffix("+json")
            && names[1] != "+json"
        return !hasOtherCharset && (type == "application/json" || hasSuffix)
    }

    var isMergePatch: Bool {
        !hasOtherCharset && ["application/merge-patch+json", "application/json"].contains(type)
    }

    var isJSONLines: Bool {
        let types = ["application/x-ndjson", "application/jsonl", "application/json-lines"]
        return !hasOtherCharset && types.contains(type)
    }
}

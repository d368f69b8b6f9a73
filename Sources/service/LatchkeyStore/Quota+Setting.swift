internal import LatchkeySettings

extension StoreLimits {
    /// `--quota PREFIX=BYTES`, several times or with commas between.
    static let quotaSetting = Setting<Self>(
        "quota",
        .spelled(placeholder: "PREFIX=BYTES,...", help: Quota.help) { text in
            do throws(InvalidQuota) {
                _ = try Quota.list(text)
                return nil
            } catch {
                return error.message
            }
        },
        \.quotas,
        "The maximum length of the names and values below a prefix, or none. The prefix is "
            + "percent-encoded: a comma is %2C. Can be given several times. A write that would "
            + "exceed one gets status 507.",
        text: { quotas in
            quotas.isEmpty ? "none" : quotas.map(\.spelling).joined(separator: ",")
        },
        value: { try? Quota.list($0) }
    )
    .repeatable()
}

/// An error in a list of quotas: the rest of a sentence that begins with the flag.
private struct InvalidQuota: Error {
    let message: String
}

extension Quota {
    fileprivate static let help = "prefixes and bytes, such as app/=64MiB, or none"

    /// Reads quotas with commas between.
    fileprivate static func list(_ text: String) throws(InvalidQuota) -> [Quota] {
        guard text != "none" else {
            return []
        }
        var quotas: [Quota] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let quota = try Quota(part)
            guard !quotas.contains(where: { $0.prefix == quota.prefix }) else {
                throw InvalidQuota(message: "names the prefix '\(quota.text)' twice.")
            }
            quotas.append(quota)
        }
        guard quotas.count <= countMax else {
            throw InvalidQuota(message: "takes at most \(countMax) quotas, not \(quotas.count).")
        }
        return quotas
    }

    /// Reads `PREFIX=BYTES`; the last `=` is the one between them.
    private init(_ part: Substring) throws(InvalidQuota) {
        guard let sign = part.lastIndex(of: "=") else {
            throw InvalidQuota(message: "takes \(Self.help), not '\(part)'.")
        }
        guard sign != part.startIndex else {
            throw InvalidQuota(message: "needs a prefix. --max-bytes limits all properties.")
        }
        guard let prefix = PropertyName.prefix(percentEncoded: part[..<sign]) else {
            throw InvalidQuota(
                message: "takes prefixes of 1 to \(PropertyName.byteCountMax) bytes of "
                    + "percent-encoded UTF-8 without control characters, not "
                    + "'\(part[..<sign])'."
            )
        }
        let number = part[part.index(after: sign)...]
        guard let byteCount = Measure.bytes.integer(number), Self.byteCountBounds ~= byteCount
        else {
            let (low, high) = (Self.byteCountBounds.lowerBound, Self.byteCountBounds.upperBound)
            throw InvalidQuota(
                message: "takes a whole number from \(low) to \(high) bytes after '=', such as "
                    + "512KiB or 2MB, not '\(number)'."
            )
        }
        self.init(prefix: prefix, byteCountMax: byteCount)
    }

    /// As ``list(_:)`` reads it.
    fileprivate var spelling: String {
        "\(text.replacing("%", with: "%25").replacing(",", with: "%2C"))=\(byteCountMax)"
    }
}

/// The tables of the database.
///
/// Columns with a property's value come last, so that SQLite finds the others without them; except
/// for those that came with the second format.
enum Schema {
    /// "LKEY": `pragma application_id`.
    static let application: Int64 = 0x4C4B_4559
    /// `pragma user_version`.
    static let format: Int64 = 3
    /// The first format, without authors and kept revisions.
    ///
    /// A service migrates it when it opens it, and so the second one, which has no notes about the
    /// log (``LogNotes``) and no skipped revisions (``MetaKey/skipRevision``).
    static let firstFormat: Int64 = 1
    static let pageByteCount = 4096

    /// A row for each effect of a commit.
    ///
    /// `row` has no gap, and `more` says how many rows of the same commit follow, so that a missing
    /// row is noticed. Without value, the property was removed. Without expiry, it stays. An author
    /// is the name of a token; there is none if the service asks for no tokens, or removes
    /// properties by itself. If only the time to live of a property starts again, `kept` is the
    /// revision that it keeps.
    private static func changes(_ added: String) -> String {
        """
        CREATE TABLE changes(row integer primary key, revision integer not null, \
        more integer not null, reason integer not null, time integer not null, created integer, \
        expiry integer, checksum integer not null, name text not null, value text\(added))
        """
    }

    /// The properties as of the revision `storedRevision` of the table `meta`.
    ///
    /// While a round of compaction runs, some are of later revisions, up to that of the round.
    private static func stored(_ author: String) -> String {
        """
        CREATE TABLE stored(name text primary key not null, revision integer not null, \
        created integer not null, expiry integer, checksum integer not null, \
        value text not null\(author)) without rowid
        """
    }

    /// The data of a commit that is not a property.
    private static let notes = """
        CREATE TABLE notes(revision integer primary key, time integer not null, \
        checksum integer not null, note blob not null)
        """

    private static let meta = """
        CREATE TABLE meta(key text primary key not null, value integer not null, \
        checksum integer not null) without rowid
        """

    /// The state, for readers: the latest change of a name, or else its stored row.
    private static func properties(
        revision: String = "c.revision",
        _ authors: (all: String, changes: String, stored: String)
    ) -> String {
        """
        CREATE VIEW properties as select name, value, revision, created, expiry\(authors.all) \
        from (select c.name, c.value, \(revision), c.created, c.expiry\(authors.changes) \
        from changes c where c.row in (select max(row) from changes group by name) \
        and c.value is not null union all \
        select s.name, s.value, s.revision, s.created, s.expiry\(authors.stored) \
        from stored s where s.name not in (select name from changes)) where expiry is null \
        or expiry > (julianday('now') - 2440587.5) * 86400000
        """
    }

    private static let author = ", author text"
    private static let kept = ", kept integer"
    private static let view = properties(
        revision: "coalesce(c.kept, c.revision) as revision",
        (", author", ", c.author", ", s.author")
    )

    /// As SQLite keeps them in its own table, sorted by name.
    static let statements = [changes(author + kept), meta, notes, view, stored(author)]

    /// The statements of the first format.
    private static let firstStatements = [
        changes(""), meta, notes, properties(("", "", "")), stored(""),
    ]

    /// The statements of a readable format.
    static func statements(of format: Int64) -> [String] {
        format == firstFormat ? firstStatements : statements
    }

    /// Migrates a database of the first format to the second.
    ///
    /// The columns are added to the text that SQLite keeps (its manual, ALTER TABLE), and no row is
    /// written: a missing column is null.
    static let migration =
        "drop view properties; alter table changes add column author text; "
        + "alter table changes add column kept integer; "
        + "alter table stored add column author text; \(view)"

    static let reading = "select sql from sqlite_schema where sql is not null order by name"
}

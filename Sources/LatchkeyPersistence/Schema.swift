/// The tables of the database.
///
/// Columns with a property's value come last, so that SQLite finds the others without them.
enum Schema {
    /// "LKEY": `pragma application_id`.
    static let application: Int64 = 0x4C4B_4559
    /// `pragma user_version`.
    static let format: Int64 = 1
    static let pageByteCount = 4096

    /// A row for each effect of a commit.
    ///
    /// `row` has no gap, and `more` says how many rows of the same commit follow, so that a missing
    /// row is noticed. Without value, the property was removed. Without expiry, it stays.
    private static let changes = """
        CREATE TABLE changes(row integer primary key, revision integer not null, \
        more integer not null, reason integer not null, time integer not null, created integer, \
        expiry integer, checksum integer not null, name text not null, value text)
        """

    /// The properties as of the revision `storedRevision` of the table `meta`.
    ///
    /// While a round of compaction runs, some are of later revisions, up to that of the round.
    private static let stored = """
        CREATE TABLE stored(name text primary key not null, revision integer not null, \
        created integer not null, expiry integer, checksum integer not null, \
        value text not null) without rowid
        """

    /// What belongs to a commit and is not a property.
    private static let notes = """
        CREATE TABLE notes(revision integer primary key, time integer not null, \
        checksum integer not null, note blob not null)
        """

    private static let meta = """
        CREATE TABLE meta(key text primary key not null, value integer not null, \
        checksum integer not null) without rowid
        """

    /// The state, for readers: the latest change of a name, or else what is stored of it.
    private static let properties = """
        CREATE VIEW properties as select name, value, revision, created, expiry from (\
        select c.name, c.value, c.revision, c.created, c.expiry from changes c \
        where c.row in (select max(row) from changes group by name) and c.value is not null \
        union all select s.name, s.value, s.revision, s.created, s.expiry from stored s \
        where s.name not in (select name from changes)) where expiry is null \
        or expiry > (julianday('now') - 2440587.5) * 86400000
        """

    /// As SQLite keeps them in its own table, sorted by name.
    static let statements = [changes, meta, notes, properties, stored]

    static let reading = "select sql from sqlite_schema where sql is not null order by name"
}

/// A database in one file (SQLite 3).
package enum SQLiteDatabase {}

// Raw SQLite with the durability of the service: inserts the same rows into the same table of a
// separate database.
import { DatabaseSync } from '@photostructure/sqlite';
import { tldRow } from '../data.mjs';
import { measure, repeatFor, serveJobs } from './measure.mjs';

const [path] = process.argv.slice(2);
const database = new DatabaseSync(path);
for (const pragma of [
  'journal_mode = WAL',
  'synchronous = FULL',
  'temp_store = MEMORY',
  'wal_autocheckpoint = 8000',
])
  database.exec(`PRAGMA ${pragma}`);
const columns = ['id', 'name', 'description', 'created_at', 'updated_at', 'name_key'];
const statement = database.prepare(
  `INSERT INTO tlds (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
);
let number = 1_000_000;
const insert = () => {
  const row = tldRow((number += 1));
  statement.run(row.id, row.name, row.description, row.created_at, row.updated_at, row.name);
};

/** Inserts `batch` rows in one transaction. Without `batch`, commits each row separately. */
serveJobs({}, ({ seconds, batch }) => {
  if (batch === undefined) return repeatFor(seconds, insert);
  return measure(async () => {
    database.exec('BEGIN IMMEDIATE');
    for (let count = 0; count < batch; count += 1) insert();
    database.exec('COMMIT');
    return batch;
  });
});

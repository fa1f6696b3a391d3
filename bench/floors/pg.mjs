// Raw pg: named statements on the service's table, over a pool of the service's size. This floor
// has as many concurrent callers as the load has connections.
import pg from 'pg';
import { tldRow } from '../data.mjs';
import { measure, serveJobs } from './measure.mjs';

const [url, ids] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10 });
const known = ids.split(',');
const columns = ['id', 'name', 'description', 'created_at', 'updated_at', 'name_key'];
let number = 1_000_000;
const STATEMENTS = {
  get: () => ({
    name: 'floor-get',
    text: 'SELECT id, name, description, created_at, updated_at FROM tlds WHERE id = $1',
    values: [known[(number += 1) % known.length]],
  }),
  create() {
    const row = tldRow((number += 1));
    const text = `INSERT INTO tlds (${columns.join(', ')}) VALUES ($1, $2, $3, $4, $5, $6)`;
    return {
      name: 'floor-create',
      text,
      values: [row.id, row.name, row.description, row.created_at, row.updated_at, row.name],
    };
  },
};

serveJobs({}, ({ statement, seconds, callers }) =>
  measure(async () => {
    const end = performance.now() + seconds * 1000;
    let count = 0;
    const caller = async () => {
      while (performance.now() < end) {
        const { rowCount } = await pool.query(STATEMENTS[statement]());
        if (rowCount !== 1) throw new Error(`${statement}: ${rowCount} rows`);
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return count;
  }),
);

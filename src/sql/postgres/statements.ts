import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Sql, SqlRow, Use } from '../sql.ts';
import { translate } from './postgres-faults.ts';

export type Query = (query: {
  name?: string;
  text: string;
  values: unknown[];
}) => Promise<pg.QueryResult<SqlRow>>;

/**
 * The prepared statements by their SQL text. The definitions of the resource types determine the
 * texts, so the number of statements is limited.
 */
const statements = new Map<string, { name: string; text: string }>();

/** Returns a statement, prepared if it has parameters and is used more than once. */
function statementOf(text: string, hasParameters: boolean, use: Use | undefined) {
  if (!hasParameters) return { text };
  return use === 'once' ? { text: numbered(text) } : prepared(text);
}

/** Numbers the parameters. Each connection prepares the statement once, under the name. */
function prepared(text: string): { name: string; text: string } {
  const found = statements.get(text);
  if (found !== undefined) return found;
  const statement = {
    name: createHash('sha256').update(text).digest('base64url').slice(0, 32),
    text: numbered(text),
  };
  statements.set(text, statement);
  return statement;
}

function numbered(text: string): string {
  let position = 0;
  return text.replaceAll('?', () => `$${(position += 1)}`);
}

/** `queryShared` sends the statements with `shared`. */
export function sqlOn(query: Query, queryShared = query): Sql {
  const send = async (
    text: string,
    parameters: readonly unknown[],
    use?: Use,
  ): Promise<pg.QueryResult<SqlRow>> => {
    const statement = statementOf(text, parameters.length > 0, use);
    try {
      const through = use === 'shared' ? queryShared : query;
      return await through({ ...statement, values: [...parameters] });
    } catch (error) {
      throw translate(error);
    }
  };
  return {
    all: async (text, parameters, use) => (await send(text, parameters, use)).rows,
    one: async (text, parameters, use) => (await send(text, parameters, use)).rows[0],
    run: async (text, parameters) => (await send(text, parameters)).rowCount ?? 0,
  };
}

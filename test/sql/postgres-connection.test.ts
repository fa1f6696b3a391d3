import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { parseDatabase } from '../../src/sql/databases.ts';
import { connectionOptions } from '../../src/sql/postgres/connection.ts';

const linkTo = (setting: string) => {
  const { kind, location } = parseDatabase(setting);
  return kind.linkTo(location);
};

describe('the connection to a database', () => {
  test.each([
    ['', false],
    ['?sslmode=disable', false],
    ['?sslmode=allow', false],
    ['?sslmode=prefer', false],
    ['?application_name=x&sslmode=prefer', false],
    ['?ssl=0', false],
    ['?sslmode=require', true],
    ['?sslmode=verify-ca', true],
    ['?sslmode=verify-full', true],
    ['?sslmode=no-verify', true],
    ['?ssl=true', true],
  ])('to postgres://tsigil@db.example/tsigil%s: encrypted is %s', async (query, encrypted) => {
    expect(await linkTo(`postgres://tsigil@db.example/tsigil${query}`)).toEqual({
      host: 'db.example',
      encrypted,
    });
  });

  test.each([
    ['postgres://tsigil@[2001:db8::1]:5433/tsigil', '2001:db8::1'],
    ['postgresql://192.0.2.1/tsigil', '192.0.2.1'],
    ['postgres://tsigil@db.example/tsigil?host=192.0.2.2', '192.0.2.2'],
  ])('to %s has the host %s', async (setting, host) => {
    expect(await linkTo(setting)).toMatchObject({ host });
  });

  test.each([
    'sqlite:var/tsigil.db',
    'postgres://tsigil@%2Fvar%2Frun%2Fpostgresql/tsigil',
    'postgres://tsigil@x/tsigil?host=/var/run/postgresql',
  ])('to %s is not over the network', async (setting) => {
    expect(await linkTo(setting)).toBeUndefined();
  });
});

describe('the password', () => {
  const passwordFor = (location: string, password?: string) => {
    const settings = {
      maxConnections: 1,
      statementTimeoutSeconds: 1,
      password,
    };
    return new pg.Client(connectionOptions(location, settings)).password ?? undefined;
  };

  test.each([
    '//tsigil@db.example/tsigil',
    '//tsigil@db.example/tsigil?sslmode=verify-full',
    '//tsigil@db.example/tsigil?sslmode=verify-full#fragment',
    '//tsigil@%2Frun%2Fpostgresql/tsigil',
  ])('in the settings applies to a URL without a password: %s', (location) => {
    for (const password of ['plain', 'a#b&c=d+e %20?/@:', 'ünïcödé'])
      expect(passwordFor(location, password)).toBe(password);
    expect(passwordFor(location)).toBeUndefined();
  });

  test.each(['//tsigil:own@db.example/tsigil', '//tsigil@db.example/tsigil?password=own'])(
    'in the URL overrides the settings: %s',
    (location) => {
      expect(passwordFor(location, 'other')).toBe('own');
    },
  );
});

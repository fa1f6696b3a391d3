import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate and its key in PEM format. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Runs openssl in `folder`. The words of the command contain no blanks. */
function openssl(folder: string, command: string): void {
  execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'ignore' });
}

/**
 * Creates a certificate authority with openssl. Writes the certificate to `name.pem` and the key to
 * `name.key` in `folder`, and returns the path of the certificate.
 */
export function createAuthority(folder: string, name: string): string {
  const files = `-keyout ${name}.key -out ${name}.pem`;
  openssl(folder, `req -x509 -newkey rsa:2048 -nodes ${files} -subj /CN=${name}`);
  return join(folder, `${name}.pem`);
}

/** Creates a certificate for 127.0.0.1, issued by an authority in the same folder. */
export function createCertificate(folder: string, authority: string): Certificate {
  const request = '-keyout server.key -out server.csr -subj /CN=server';
  openssl(folder, `req -newkey rsa:2048 -nodes ${request} -addext subjectAltName=IP:127.0.0.1`);
  const signing = `-CA ${authority}.pem -CAkey ${authority}.key -copy_extensions copy`;
  openssl(folder, `x509 -req -in server.csr ${signing} -out server.pem`);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { key: read('server.key'), cert: read('server.pem') };
}

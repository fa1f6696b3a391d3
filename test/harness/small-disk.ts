import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Brand } from './brands/brand.ts';
import { canMount, fillWith, mountMemory, type SmallFileSystem } from './file-systems.ts';

const CAN_MOUNT = canMount((parent) => mountMemory(parent, '1m'), 'A memory file system');

/** Returns whether the key file of a brand can be on a small disk. */
export function fitsOnSmallDisk({ include }: Brand): boolean {
  return include !== undefined && CAN_MOUNT;
}

/** Returns the brand with its key file on a disk of 64 kB if possible. Adds the disk to `disks`. */
export function onSmallDisk(brand: Brand, disks: SmallFileSystem[]): Brand {
  if (!fitsOnSmallDisk(brand)) return brand;
  return {
    ...brand,
    configure(folder, port, controlPort) {
      const disk = mountMemory(folder, '64k');
      if (disk !== undefined) disks.push(disk);
      rmSync(join(folder, 'keys'), { recursive: true });
      symlinkSync(join(folder, 'memory'), join(folder, 'keys'));
      brand.configure(folder, port, controlPort);
    },
  };
}

/** Fills the small disk of a name server. Returns a function that frees the space again. */
export function fillDisk({ folder }: { readonly folder: string }): () => void {
  const file = join(folder, 'memory', '.full');
  fillWith(file);
  return () => rmSync(file);
}

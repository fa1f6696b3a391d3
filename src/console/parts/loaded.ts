import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { NotLoaded } from './notices.tsx';

type Load<P> = () => Promise<ComponentType<P>>;

/** Returns a part of the console once it is loaded, or what says that this failed. */
export function useLoaded<P>(load: Load<P> | undefined): ComponentType<P> | undefined {
  const [loaded, setLoaded] = useState<readonly [Load<P>, ComponentType<P>]>();
  useEffect(() => {
    if (load === undefined) return;
    let isWanted = true;
    void load()
      .catch(() => NotLoaded)
      .then((content) => {
        if (isWanted) setLoaded([load, content]);
      });
    return () => {
      isWanted = false;
    };
  }, [load]);
  return loaded?.[0] === load ? loaded?.[1] : undefined;
}

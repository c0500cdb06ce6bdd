# NixOS module: the units of ../../systemd as they are, with the store's paths in them.
#
#   imports = [ ./curfew/cloud-init/nixos/curfew.nix ];
#   services.curfew = { enable = true; package = curfew-agent; heldServices = [ "kubelet" ]; };
{ config, lib, pkgs, ... }:
let
  cfg = config.services.curfew;
  inherit (lib) mkEnableOption mkIf mkOption types;

  unit = name: builtins.replaceStrings
    [ "/usr/local/bin/curfew-agent" "ExecStart=nft " "ExecReload=nft " "ExecStop=-nft " ]
    [ "${cfg.package}/bin/curfew-agent" "ExecStart=${nft} " "ExecReload=${nft} " "ExecStop=-${nft} " ]
    (builtins.readFile (../../systemd + "/${name}"));
  nft = "${pkgs.nftables}/bin/nft";
  # [Install] is not read from a unit of the store.
  early = name: { text = unit name; wantedBy = [ "sysinit.target" ]; };
  started = name: { text = unit name; };

  settings = { CURFEW_TOKEN_FILE = cfg.tokenFile; } // cfg.settings;
  line = name: "${name}=${settings.${name}}\n";
in
{
  options.services.curfew = {
    enable = mkEnableOption "the dead man's switch of this machine";
    package = mkOption {
      type = types.package;
      description = "A package with bin/curfew-agent, static.";
    };
    tokenFile = mkOption {
      type = types.str;
      default = "/etc/curfew/token";
      description = "File with the provider's token, mode 0600. Never a path of the store, which everybody can read.";
    };
    settings = mkOption {
      type = types.attrsOf types.str;
      default = { };
      example = { CURFEW_MAX_LIFETIME = "8h"; };
      description = "Options of the agent, as `curfew-agent run --help` names their variables.";
    };
    metadataGuard = mkOption {
      type = types.bool;
      default = true;
      description = "Keep pods from the metadata service.";
    };
    heldServices = mkOption {
      type = types.listOf types.str;
      default = [ ];
      example = [ "kubelet" "k3s" ];
      description = "Services that do not start before this machine is armed.";
    };
  };

  config = mkIf cfg.enable {
    assertions = [{
      assertion = builtins.substring 0 11 cfg.tokenFile != "/nix/store/";
      message = "services.curfew.tokenFile must not lie in the store: everybody can read it there.";
    }];
    systemd.units = {
      "curfew-agent.service" = early "curfew-agent.service";
      "curfew-backstop.timer" = early "curfew-backstop.timer";
      "curfew-backstop.service" = started "curfew-backstop.service";
      "curfew-armed.service" = started "curfew-armed.service";
    } // (if cfg.metadataGuard then {
      "curfew-metadata-guard.service" = early "curfew-metadata-guard.service";
    } else { });
    systemd.services = builtins.listToAttrs (map
      (name: {
        inherit name;
        value = { requires = [ "curfew-armed.service" ]; after = [ "curfew-armed.service" ]; };
      })
      cfg.heldServices);
    environment.etc = {
      "curfew/agent.env".text = builtins.concatStringsSep "" (map line (builtins.attrNames settings));
    } // (if cfg.metadataGuard then {
      "curfew/metadata-guard.nft".text = builtins.readFile ../../systemd/metadata-guard.nft;
    } else { });
  };
}
